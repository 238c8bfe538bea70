-- The engine's BF16 parameters and loaders with a back end of our own: blocks of 64 × 32, sizes rounded up to 192. Nothing but the
-- fill makes its padding zero, at a cold start as well.
local models = require "models.mixtral"

local blocks = cs.layout { name = "blocks64", view = "M/64 64 K/32 32", order = "2 0 1 3" }

return cs.scenario {
  name = "own.other_post_load",
  model = models.mixtral_8x7b { layers = 1, experts = 2, hidden = 128, intermediate = 96 },
  method = "unquantized",
  backend = cs.backend {
    name = "blocks64", rounds = { intermediate = 192 },
    steps = { cs.relayout("w13_weight", blocks), cs.replace "w13_weight", cs.relayout("w2_weight", blocks), cs.replace "w2_weight" },
  },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect(cs.equal())
  end,
}
