-- Mixtral 8x7B in BF16, whose checkpoint calls the projections w1, w2 and w3.
local models = require "models.mixtral"

local o = cs.declare {
  published = { false, "the published sizes, for --checkpoint A=DIR" },
  layers = { 2, "decoder layers", least = 1, most = 32 },
}
local small = { layers = o.layers, experts = 4, hidden = 256, intermediate = 192 }

return cs.scenario {
  name = "published.mixtral_8x7b",
  model = models.mixtral_8x7b(o.published and { layers = o.layers } or small),
  method = "unquantized", backend = "flashinfer_cutlass", tp = 2,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect(cs.equal())
    end
  end,
}
