-- Reference pull request (P5): load A records a tail from 4 on, load B writes 0 to 6. A record that stays blanks two real elements.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b09.second_split",
  tags = { "bugs", "toy", "P5" },
  fault = "records_kept",
  model = cs.toy {
    params = { { name = "p", shape = 8, dtype = "f32", created = "zeros" } },
    loads = {
      A = { { param = "p", shape = 4, value = 1, marks = { { at = 4, shape = 4 } } } },
      B = { { param = "p", shape = 6, value = 7, marks = { { at = 6, shape = 2 } } } },
    },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 1 or 0, values = { p = is_on and { 7, 7, 7, 7, 0, 0, 0, 0 } or { 7, 7, 7, 7, 7, 7, 0, 0 } } }
  end,
}
