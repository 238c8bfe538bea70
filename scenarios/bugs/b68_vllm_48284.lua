-- vllm#48284 (R4): an unquantized hybrid model is corrupted by its own weights: modules that need no processing are processed all the same.
-- Only the experts are sent; the other five tensors must stay.
local models, fault = require "models.gpt_oss", require "models.lib.fault"

return fault.pair {
  name = "bugs.b68.needless_processing",
  tags = { "bugs", "R4" },
  fault = "untouched_processed",
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
  method = "unquantized", backend = "triton", loader = "gpt_oss_bf16_streamed", tp = 2,
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "A", only = { "*.experts.*" } }
    -- on each rank three norms and the router's weight; its bias is never put on meta
    s:expect { params_differ = is_on and 8 or 0 }
  end,
}
