-- sglang#30761 (V6): a flag says that scales are in their kernel format already; the fresh ones of a reload are not, and are taken for it.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b54.latched_flag",
  tags = { "bugs", "toy", "V6" },
  fault = "scale_not_relaid",
  model = cs.toy {
    params = { { name = "weight_scale", shape = 4, dtype = "f32", created = "ones" } },
    loads = {
      A = { { param = "weight_scale", shape = 4, values = { 1, 2, 3, 4 } } },
      B = { { param = "weight_scale", shape = 4, values = { 5, 6, 7, 8 } } },
    },
    post_load = { cs.relayout("weight_scale", "swap_halves"), cs.replace "weight_scale" },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { params_differ = is_on and 1 or 0, values = { weight_scale = is_on and { 5, 6, 7, 8 } or { 7, 8, 5, 6 } } }
  end,
}
