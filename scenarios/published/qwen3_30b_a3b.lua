-- Qwen3-30B-A3B in BF16. TRT-LLM wants an intermediate size of whole 128s, and zeroes what is more by itself. Or as published in FP8: two
-- scales of each layer, in the quant config, become orphan copies.
local models = require "models.qwen3"

local o = cs.declare {
  published = { false, "the published sizes, for --checkpoint A=DIR" },
  layers = { 2, "decoder layers", least = 1, most = 48 },
  fp8 = { false, "the checkpoint in FP8" },
}
local small = { layers = o.layers, experts = 4, hidden = 256, intermediate = o.fp8 and 128 or 96, fp8 = o.fp8 }

return cs.scenario {
  name = "published.qwen3_30b_a3b",
  model = models.qwen3_30b_a3b(o.published and { layers = o.layers, fp8 = o.fp8 } or small),
  method = o.fp8 and "fp8_block" or "unquantized", backend = "flashinfer_trtllm", tp = 1,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect(o.fp8 and { params_differ = 0, side_moved = 0, side_extra = 2 * o.layers, side_differ = 0 } or cs.equal())
    end
  end,
}
