-- Qwen3-30B-A3B-FP8 on one rank (R4.6), 48 layers and small sizes: whole blocks, no padding.
local models = require "models.qwen3"

return cs.scenario {
  name = "qwen3.fp8_block_tp1",
  tags = { "R4.6" },
  model = models.qwen3_30b_a3b { experts = 2, hidden = 256, intermediate = 128, fp8 = true },
  method = "fp8_block", backend = "triton", tp = 1,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { params_differ = 0, side_extra = 2 * 48, side_moved = 0, fill_regions = 0 }
    end
  end,
}
