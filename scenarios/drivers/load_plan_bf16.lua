-- BF16 counts without its padding, so a plan can be baked; then no loader runs, and nothing fills (R4.11). Post-load zeroes the padding of
-- the intermediate dimension itself: right. Nobody zeroes the hidden one, 224 → 256, nor that of the biases: four parameters of
-- each layer are wrong, unless the records of the load before are replayed.
local models = require "models.mixtral"

return cs.scenario {
  name = "drivers.load_plan.bf16",
  tags = { "small", "R4.11" },
  model = models.mixtral_8x7b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "unquantized", backend = "flashinfer_trtllm",
  experts = { bias = true },
  all2all = "deepep_ht",
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "load_plan", checkpoint = "B", replay_records = true }
    s:expect { params_differ = 0, fill_calls = 2 }
    s:reload { driver = "load_plan", checkpoint = "A" }
    s:expect { params_differ = 8, fill_calls = 0 }
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, fill_calls = 2 }
  end,
}
