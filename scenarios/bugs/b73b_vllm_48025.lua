-- vllm#48025 (T): a parameter that post-load made anew carries the global rank: a replicated one, 576 rows of MLA's fused projection, is narrowed
-- at rank × 576 by the next load, which ends behind it. Here w2's bias, which every rank has whole.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "bugs.b73b.replicated",
  tags = { "bugs", "T" },
  fault = "replicated_is_sharded",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
  method = "unquantized", backend = "triton", tp = 2, experts = { bias = true },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect(is_on and cs.refused() or { params_differ = 0 })
  end,
}
