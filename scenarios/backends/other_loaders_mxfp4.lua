-- MXFP4 back ends with the loaders that have no file of their own: gpt-oss streamed expert by expert, and quantised by Quark.
local backends = {
  "aiter", "aiter_bf16", "deepgemm", "emulation", "flashinfer_cutlass", "flashinfer_cutlass_mxfp8", "marlin", "triton", "triton_blackwell",
}

return require "models.lib.other_loaders" {
  { "gpt_oss_mxfp4", { "flashinfer_trtllm", table.unpack(backends) }, { "gpt_oss_streamed" }, intermediate = 256 },
  { "quark_mx", backends, { "gpt_oss_quark_mx", "gpt_oss_quark_mx_combined" }, bare = 6, intermediate = 256, experts = { bias = true } },
}
