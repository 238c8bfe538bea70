-- Expert parallelism with load balancing: 4 experts and 2 copies over 2 ranks, three on each. Copies get what their expert gets.
local models = require "models.qwen3"

return cs.scenario {
  name = "layers.redundant_experts",
  model = models.qwen3_30b_a3b { layers = 1, experts = 4, hidden = 128, intermediate = 64 },
  method = "unquantized", backend = "triton", ep = 2,
  experts = { redundant = 2 },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B", order = "shuffled" }
    s:expect { params_differ = 0, missing = 0, duplicate = 0, excess = 0 }
  end,
}
