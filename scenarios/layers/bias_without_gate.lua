-- Experts with biases and without a gate: w13 is the up projection alone, 96 rows of which become 128.
local models = require "models.mixtral"

return cs.scenario {
  name = "layers.bias_without_gate",
  model = models.mixtral_8x7b { layers = 1, experts = 2, hidden = 128, intermediate = 96 },
  method = "unquantized", backend = "flashinfer_trtllm",
  experts = { bias = true, gated = false },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect(cs.equal())
  end,
}
