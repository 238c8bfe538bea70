-- vllm#44763 (P9): online FP8 per block of Qwen3-30B-A3B at TP4, 768 / 4 = 192 rows a rank: a kernel assertion at the first forward. Here 384
-- at TP2, padded to 256.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "bugs.b14.partial_block",
  tags = { "bugs", "P9" },
  fault = "partial_block_refused",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 256, intermediate = 384 },
  method = "online_fp8_block", backend = "triton", tp = 2,
  run = function(s, is_on)
    s:cold_start "A"
    if not is_on then s:reload { driver = "layerwise", checkpoint = "B" } end
    s:expect(is_on and cs.refused("exceeds the scales") or { params_differ = 0 })
  end,
}
