-- F20: FP8 block scales with a partial last block under a refined grid cannot be loaded: 192 columns are one and a half blocks of 128, two scales,
-- which become four of 64 where three fit.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "found.f20.partial_last_block",
  tags = { "found", "F20", "P9" },
  standing = "partial_block_refined",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 192, intermediate = 384, fp8 = true },
  method = "fp8_block", backend = "triton", tp = 2,
  run = function(s, is_on)
    s:cold_start "A"
    if is_on then return s:expect(cs.refused "does not fit the [3, 3]") end
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { params_differ = 0, fill_regions = 0 }
    end
  end,
}
