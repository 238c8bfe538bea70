-- GLM-4.5 in BF16. AITER wants an intermediate size of whole 64s: 96 of each rank become 128.
local models = require "models.glm4"

local o = cs.declare {
  published = { false, "the published sizes, for --checkpoint A=DIR" },
  layers = { 4, "decoder layers", least = 4, most = 92 },
}
local small = { layers = o.layers, experts = 4, hidden = 256, intermediate = 192 }

return cs.scenario {
  name = "published.glm_4_5",
  model = models.glm_4_5(o.published and { layers = o.layers } or small),
  method = "unquantized", backend = "aiter", tp = 2,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect(cs.equal())
    end
  end,
}
