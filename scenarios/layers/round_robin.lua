-- Experts on ranks in turn: 0, 2 and 4 on rank 0, 1 and 3 on rank 1.
local models = require "models.qwen3"

return cs.scenario {
  name = "layers.round_robin",
  model = models.qwen3_30b_a3b { layers = 1, experts = 5, hidden = 128, intermediate = 64 },
  method = "unquantized", backend = "flashinfer_cutlass", ep = 2,
  experts = { placement = "round_robin" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, missing = 0, excess = 0 }
  end,
}
