-- ROCm/ATOM#442, #1488 (P9): 1536 rows at TP8, 192 a rank. Whole blocks, padded, and smaller blocks must agree on the real rows; padded here.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "bugs.b18.partial_block",
  tags = { "bugs", "P9" },
  fault = "partial_block_refused",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 128, intermediate = 384, fp8 = true },
  method = "fp8_block", backend = "flashinfer_trtllm", tp = 2,
  run = function(s, is_on)
    s:cold_start "A"
    if not is_on then s:reload { driver = "layerwise", checkpoint = "B" } end
    s:expect(is_on and cs.refused("exceeds the scales") or { params_differ = 0 })
  end,
}
