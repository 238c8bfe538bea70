-- vllm#39046, #48173 (P9): MiniMax-M2.5 at TP8 has 1536 / 8 = 192 rows a rank, no whole blocks of its 128 × 128 scales: the load
-- aborts. By whole blocks, padded to 256, it works. Here 384 rows at TP2.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "bugs.b13.partial_block",
  tags = { "bugs", "P9" },
  fault = "partial_block_refused",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 256, intermediate = 384, fp8 = true },
  method = "fp8_block", backend = "flashinfer_trtllm", tp = 2,
  run = function(s, is_on)
    s:cold_start "A"
    if not is_on then s:reload { driver = "layerwise", checkpoint = "B" } end
    s:expect(is_on and cs.refused("exceeds the scales") or { params_differ = 0 })
  end,
}
