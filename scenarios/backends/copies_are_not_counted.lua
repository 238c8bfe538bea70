-- gpt-oss in Quark FP8 is copied into parameters without the weight loader, so that a layerwise reload counts nothing and puts the old
-- values back: 2 weights, 2 scales, 2 activation scales and 2 biases of each layer.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "backends.copies_are_not_counted",
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 256, intermediate = 256 },
  method = "quark_fp8_gpt_oss", backend = "triton",
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 2 * 8 }
  end,
}
