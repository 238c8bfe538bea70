-- Qwen3-30B-A3B-NVFP4 for TRT-LLM at TP4 (R4.7), 48 layers and small sizes, 64 rows per rank: nothing is padded. Config and experts object
-- share five tensors of a layer and rank with parameters: two block scales, two second-level scales, and their product with the reciprocal
-- of an activation scale. They own the two reciprocals. A layerwise reload makes orphan copies of the five and moves the two.
local models = require "models.qwen3"

return cs.scenario {
  name = "qwen3.nvfp4_trtllm_tp4",
  tags = { "R4.7" },
  model = models.qwen3_30b_a3b { experts = 1, hidden = 256, intermediate = 256 },
  method = "nvfp4_modelopt", backend = "flashinfer_trtllm", tp = 4,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { params_differ = 0, side_extra = 960, side_moved = 384, side_differ = 0, fill_regions = 0 }
    end
  end,
}
