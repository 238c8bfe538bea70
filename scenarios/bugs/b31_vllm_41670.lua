-- vllm#41670 (S2, S3): channel-wise FP8 experts with CUTLASS: the config points at orphan scales, two of a layer, the kernel at three new stride
-- tensors. Three reloads of the same weights are right eagerly, and crash with graphs.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "bugs.b31.identity_reload",
  tags = { "bugs", "S2", "S3" },
  standing = "side_tensors_rebuilt",
  model = models.qwen3_30b_a3b { layers = 2, experts = 2, hidden = 128, intermediate = 128 },
  method = "fp8_channel", backend = "vllm_cutlass",
  run = function(s, is_on)
    s:cold_start "A"
    for _ = 1, 3 do
      s:reload { driver = "layerwise", checkpoint = "A" }
      s:expect(is_on and { params_differ = 0, params_moved = 0, side_extra = 2 * 2, side_moved = 2 * 3 } or cs.equal())
    end
  end,
}
