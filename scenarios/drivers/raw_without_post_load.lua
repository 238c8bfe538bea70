-- The same without post-load: right where kernel layout is checkpoint layout, so for the emulation alone.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.raw",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 256, intermediate = 128 },
  method = "gpt_oss_mxfp4", backend = "emulation",
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "raw", checkpoint = "B", order = "shuffled" }
    s:expect(cs.equal())
  end,
}
