-- vllm#54178 (P9): 320 rows at TP2 are 160 a rank. 2 × 320 rows of w13 are whole blocks of 128, and look fine; 160 are not.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "bugs.b16.partial_block",
  tags = { "bugs", "P9" },
  fault = "partial_block_refused",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 128, intermediate = 320 },
  method = "online_fp8_block", backend = "triton", tp = 2,
  run = function(s, is_on)
    s:cold_start "A"
    if not is_on then s:reload { driver = "layerwise", checkpoint = "B" } end
    s:expect(is_on and cs.refused("exceeds the scales") or { params_differ = 0 })
  end,
}
