-- F2: DeepEP rounds the hidden dimension up, and nobody writes that padding of unquantized weights, not even at a cold start: two
-- servers differ. Silent.
local models = require "models.qwen3"

return cs.scenario {
  name = "found.f02.hidden_padding_at_cold_start",
  tags = { "found", "F2", "P4" },
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 224, intermediate = 64 },
  method = "unquantized", backend = "triton", all2all = "deepep_ht",
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:expect { none = cs.undetermined(), record_and_fill = cs.equal() }
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { none = cs.undetermined(), record_and_fill = { params_differ = 0 } }
  end,
}
