-- FP8 with a scale for each 64 × 64: two ranks with 96 of 192 take whole blocks, and the second one pads.
local models = require "models.deepseek"

return cs.scenario {
  name = "layers.smaller_blocks",
  model = models.kimi_k2 { layers = 2, experts = 2, hidden = 128, intermediate = 192 },
  method = "fp8_block", backend = "flashinfer_cutlass", tp = 2,
  quantization = { block = 64 },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, fill_calls = 1 }
  end,
}
