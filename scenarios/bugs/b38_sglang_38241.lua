-- sglang#38241 (V3): Gemma's norm keeps weight + 1 in a buffer. Bytes that bypass the loader leave it: off by about 1.2.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b38.weight_plus_one",
  tags = { "bugs", "toy", "V3" },
  fault = "no_post_load",
  model = cs.toy {
    params = { { name = "weight", shape = 4, dtype = "f32", created = "ones" } },
    loads = { A = { { param = "weight", shape = 4, value = 0.5 } }, B = { { param = "weight", shape = 4, value = 1.75 } } },
    post_load = { cs.map("gamma", "f32", "weight + 1"), cs.replace "gamma" },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "direct", checkpoint = "B" }
    local gamma = is_on and 1.5 or 2.75
    s:expect { params_differ = is_on and 1 or 0, values = { gamma = { gamma, gamma, gamma, gamma } } }
  end,
}
