-- GLM-4.5-Air in BF16. Its 1408 are no whole 128s on two ranks, nor are the 88 here.
local models = require "models.glm4"

local o = cs.declare {
  published = { false, "the published sizes, for --checkpoint A=DIR" },
  layers = { 2, "decoder layers", least = 2, most = 46 },
}
local small = { layers = o.layers, experts = 4, hidden = 256, intermediate = 176 }

return cs.scenario {
  name = "published.glm_4_5_air",
  model = models.glm_4_5_air(o.published and { layers = o.layers } or small),
  method = "unquantized", backend = "flashinfer_trtllm", tp = 2,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect(cs.equal())
    end
  end,
}
