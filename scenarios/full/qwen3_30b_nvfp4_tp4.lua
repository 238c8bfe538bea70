-- One layer of Qwen3-30B-A3B-NVFP4 for TRT-LLM, TP4, at full size (R4.7): 192 rows of a rank are 3 × 64, no padding.
local models = require "models.qwen3"

return cs.scenario {
  name = "full.qwen3_30b.nvfp4.trtllm.tp4",
  note = "128 experts, 2048 × 768",
  tags = { "full", "R4.7" },
  model = models.qwen3_30b_a3b { layers = 1 },
  method = "nvfp4_modelopt", backend = "flashinfer_trtllm", tp = 4,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, side_extra = 5 * 4, side_moved = 2 * 4, side_differ = 0, fill_regions = 0 }
  end,
}
