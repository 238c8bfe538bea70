-- One layer of Qwen3-30B-A3B in BF16 for TRT-LLM, TP4, at full size (R4.4): 192 rows of a rank become 256, and post-load zeroes them itself.
local models = require "models.qwen3"

return cs.scenario {
  name = "full.qwen3_30b.bf16.trtllm.tp4",
  note = "128 experts, 2048 × 768",
  tags = { "full", "R4.4" },
  model = models.qwen3_30b_a3b { layers = 1 },
  method = "unquantized", backend = "flashinfer_trtllm", tp = 4,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, side_moved = 0, side_extra = 0 }
  end,
}
