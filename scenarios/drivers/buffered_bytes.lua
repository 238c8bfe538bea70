-- A layer whose count leaves padding out is complete while loading; others wait for the end of the load with all that they were sent
-- (R4.13). BF16 counts what it loads: at most one layer's experts are held, 4 · 3 matrices of 96 × 256 numbers of 2 bytes.
local models = require "models.qwen3"
local options = cs.declare { layers = { 3, "layers of the model" } }

return cs.scenario {
  name = "drivers.buffered_bytes.while_loading",
  tags = { "small", "R4.13" },
  model = models.qwen3_30b_a3b { layers = options.layers, experts = 4, hidden = 256, intermediate = 96 },
  method = "unquantized", backend = "flashinfer_trtllm",
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, buffered_bytes = 4 * 3 * 96 * 256 * 2 }
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect { params_differ = 0, buffered_bytes = 0 }
  end,
}
