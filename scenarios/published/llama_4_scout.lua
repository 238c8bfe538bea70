-- Llama-4 Scout in BF16: all experts of a layer in two tensors, K first.
local models = require "models.llama4"

local o = cs.declare {
  published = { false, "the published sizes, for --checkpoint A=DIR" },
  layers = { 2, "decoder layers", least = 1, most = 48 },
}
local small = { layers = o.layers, experts = 4, hidden = 256, intermediate = 192 }

return cs.scenario {
  name = "published.llama_4_scout",
  model = models.llama_4_scout(o.published and { layers = o.layers } or small),
  method = "unquantized", backend = "flashinfer_trtllm", loader = "llama4", tp = 2,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect(cs.equal())
    end
  end,
}
