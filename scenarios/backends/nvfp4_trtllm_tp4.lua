-- NVFP4 for TRT-LLM (R4.7), small: 2 layers, TP4, 64 rows per rank, so that nothing is padded. Post-load leaves five tensors that config and
-- experts object share with parameters (block scales, second-level scales, g1_scale_c), and two of their own (reciprocals of activation
-- scales). A layerwise reload makes orphan copies of the five and moves the two: per layer and rank.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "backends.nvfp4_trtllm_tp4",
  tags = { "R4.7" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 256, intermediate = 256 },
  method = "nvfp4_modelopt", backend = "flashinfer_trtllm", tp = 4,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, side_extra = 5 * 2 * 4, side_moved = 2 * 2 * 4, side_differ = 0 }
  end,
}
