-- vllm#48624, #55649 (P8): gate and up are padded behind the pair instead of behind each half, so that the kernel splits inside up. 704 at
-- TP2 is 352, padded to 384; here 192, 96 and 128. No error at TP1 or TP2, and every answer wrong: up's first rows lie where gate's
-- padding is, and what should be up's tail nobody writes.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "bugs.b10.end_padding",
  tags = { "bugs", "P8" },
  fault = "gated_end_pad",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 64, intermediate = 192 },
  method = "mxfp4", backend = "flashinfer_trtllm", tp = 2,
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    -- w13 and its scale on each rank
    s:expect { params_differ = is_on and 4 or 0 }
  end,
}
