-- The first form of direct reload only compares addresses and layouts: right where kernel layout is checkpoint layout.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.direct_unprocessed",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 256, intermediate = 128 },
  method = "gpt_oss_mxfp4", backend = "emulation",
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "direct_unprocessed", checkpoint = "B" }
    s:expect(cs.equal())
  end,
}
