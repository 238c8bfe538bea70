-- Llama-4 keeps all experts of a layer in two tensors, K first; each rank takes its part of every expert's gate and up: 48 rows → 128.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "unquantized.fused_3d",
  model = models.gpt_oss_20b { layers = 1, experts = 4, hidden = 64, intermediate = 96 },
  method = "unquantized", backend = "flashinfer_trtllm", tp = 2, loader = "llama4",
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0 }
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect { params_differ = 0 }
  end,
}
