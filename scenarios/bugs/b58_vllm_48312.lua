-- vllm#48312, a comment (L7): left[4] and right[4]; left is sent twice and right never: the count is reached, right is NaN, and the load reports
-- success. Counted as a set, the module is incomplete and keeps what it had.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b58.left_left",
  tags = { "bugs", "toy", "L7" },
  standing = { "duplicates_count", "unsent_is_undefined" },
  model = cs.toy {
    params = { { name = "left", shape = 4, dtype = "f32", created = "empty" }, { name = "right", shape = 4, dtype = "f32", created = "empty" } },
    loads = { A = { { param = "left", shape = 4, value = 1 }, { param = "right", shape = 4, value = 2 } } },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "A", only = { "toy.left.*" }, duplicate = { "toy.left.*" } }
    s:expect { params_differ = is_on and 1 or 0, duplicate = 1, missing = 1 }
  end,
}
