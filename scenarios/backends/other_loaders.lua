-- Back ends of BF16 and of online quantisation with the loaders that have no file of their own.
local fp8 = { "aiter", "deepgemm", "flashinfer_cutlass", "flashinfer_trtllm", "marlin", "triton" }
local bf16 = { "aiter", "flashinfer_cutlass", "flashinfer_trtllm", "triton" }
local fused = { "fused_3d", "fused_3d_transposed" }

return require "models.lib.other_loaders" {
  { "online_fp8_block", fp8, fused },
  { "online_fp8_channel", { "triton", "vllm_cutlass" }, fused },
  { "online_fp8_tensor", { "marlin", "triton" }, fused },
  { "online_mxfp4", { "emulation", "flashinfer_cutlass", "flashinfer_cutlass_mxfp8", "marlin" }, fused },
  { "online_mxfp8", { "flashinfer_trtllm", "marlin", "triton" }, fused },
  { "unquantized", bf16, { "per_expert_gate_up", "fused_3d", "fused_3d_transposed", "llama4", "gpt_oss_bf16_streamed" } },
  { "unquantized", bf16, { "gpt_oss_bf16_combined" }, bare = 2 },
}
