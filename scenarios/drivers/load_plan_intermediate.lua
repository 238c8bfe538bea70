-- The same without biases and with a hidden size that needs no padding: post-load's own zeroing is enough (R4.11).
local models = require "models.mixtral"

return cs.scenario {
  name = "drivers.load_plan.intermediate",
  tags = { "small", "R4.11" },
  model = models.mixtral_8x7b { layers = 2, experts = 4, hidden = 256, intermediate = 96 },
  method = "unquantized", backend = "flashinfer_trtllm", tp = 1,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "load_plan", checkpoint = "B" }
    s:expect(cs.equal())
  end,
}
