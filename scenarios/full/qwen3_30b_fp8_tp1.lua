-- One layer of Qwen3-30B-A3B-FP8 on one rank, at full size (R4.6): 6 × 16 blocks of each projection, no padding.
local models = require "models.qwen3"

return cs.scenario {
  name = "full.qwen3_30b.fp8_block.triton.tp1",
  note = "128 experts, 2048 × 768",
  tags = { "full", "R4.6" },
  model = models.qwen3_30b_a3b { layers = 1, fp8 = true },
  method = "fp8_block", backend = "triton",
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, side_extra = 2, side_moved = 0, fill_regions = 0 }
  end,
}
