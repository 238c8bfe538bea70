-- Qwen3-30B-A3B in BF16. TRT-LLM wants an intermediate size of whole 128s, and zeroes what is more by itself.
local models = require "models.qwen3"

local o = cs.declare {
  published = { false, "the published sizes, for --checkpoint A=DIR" },
  layers = { 2, "decoder layers", least = 1, most = 48 },
}
local small = { layers = o.layers, experts = 4, hidden = 256, intermediate = 96 }

return cs.scenario {
  name = "published.qwen3_30b_a3b",
  model = models.qwen3_30b_a3b(o.published and { layers = o.layers } or small),
  method = "unquantized", backend = "flashinfer_trtllm", tp = 1,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect(cs.equal())
    end
  end,
}
