-- ROCm/vllm#849 (S8): the shuffled weight is a new tensor after each sleep, wake and reload; captured graphs read the old one: random
-- characters.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b45.new_tensor",
  tags = { "bugs", "toy", "S8" },
  fault = "new_objects_placed",
  model = cs.toy {
    params = { { name = "weight", shape = 4, dtype = "f32", created = "empty" } },
    loads = { A = { { param = "weight", shape = 4, value = 1 } }, B = { { param = "weight", shape = 4, value = 2 } } },
    post_load = { cs.relayout("weight", "swap_halves"), cs.replace "weight" },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:sleep(2)
    s:wake()
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, params_moved = is_on and 1 or 0 }
  end,
}
