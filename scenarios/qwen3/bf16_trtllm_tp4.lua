-- Qwen3-30B-A3B in BF16 for TRT-LLM at TP4 (R4.4), with 48 layers and small sizes: 48 rows of a rank become 128. Post-load zeroes the padding
-- of the intermediate dimension itself, so that nothing has to be filled for a reload to be right; recording it anyway changes nothing.
local models = require "models.qwen3"

return cs.scenario {
  name = "qwen3.bf16_trtllm_tp4",
  tags = { "R4.4" },
  model = models.qwen3_30b_a3b { experts = 1, hidden = 64, intermediate = 192 },
  method = "unquantized", backend = "flashinfer_trtllm", tp = 4,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { params_differ = 0, side_moved = 0, side_extra = 0 }
    end
  end,
}
