-- sglang#28963 (L4): AITER's shuffle runs twice over the same weights, and is not its own inverse.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b52.double_shuffle",
  tags = { "bugs", "toy", "L4" },
  fault = "post_load_twice",
  model = cs.toy {
    params = { { name = "weight", shape = { 1, 32, 32 }, dtype = "e4m3", created = "empty" } },
    loads = {
      A = { { param = "weight", at = { 0, 0, 0 }, shape = { 1, 16, 32 }, value = 1 }, { param = "weight", at = { 0, 16, 0 }, shape = { 1, 16, 32 }, value = 2 } },
      B = { { param = "weight", at = { 0, 0, 0 }, shape = { 1, 8, 32 }, value = 3 }, { param = "weight", at = { 0, 8, 0 }, shape = { 1, 24, 32 }, value = 4 } },
    },
    post_load = { cs.relayout("weight", "shuffle32"), cs.replace "weight" },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 1 or 0 }
  end,
}
