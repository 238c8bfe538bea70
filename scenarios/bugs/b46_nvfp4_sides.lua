-- The reference pull request's count (S2): Qwen3-30B-A3B NVFP4 at TP4 after one layerwise reload has 960 extra and 384 moved side tensors, whatever is done about
-- padding; here 2 of its 48 layers, all of them in qwen3/nvfp4_trtllm_tp4. Of each layer and rank: the config holds two block scales and the two products g1_alphas and g2_alphas, the experts object g1_scale_c, all
-- five shared with parameters of a cold start; the reciprocals of the two activation scales are its own.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "bugs.b46.nvfp4_sides",
  tags = { "bugs", "S2" },
  standing = "side_tensors_rebuilt",
  model = models.qwen3_30b_a3b { layers = 2, experts = 1, hidden = 256, intermediate = 256 },
  method = "nvfp4_modelopt", backend = "flashinfer_trtllm", tp = 4,
  policies = { "none", "record_and_fill" },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect(is_on and { params_differ = 0, side_extra = 960 * 2 // 48, side_moved = 384 * 2 // 48, side_differ = 0 } or cs.equal())
  end,
}
