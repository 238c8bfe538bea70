-- sglang#28676, #33016 (S10): an index cache lies in memory that sleep gives back; the cache survives, its bytes do not. Whoever loads
-- without post-load reads garbage from it: log probabilities off by 3.83 instead of 0.06.
local fault = require "models.lib.fault"

return fault.drivers {
  name = "bugs.b43.index_cache",
  tags = { "bugs", "toy", "S10" },
  wrong = "raw", right = "raw_post_load",
  model = cs.toy {
    params = { { name = "weight", shape = 4, dtype = "f32", created = "empty" } },
    loads = { A = { { param = "weight", shape = 4, value = 1 } }, B = { { param = "weight", shape = 4, value = 2 } } },
    post_load = { cs.constant("shuffle.indices", 7) },
  },
  run = function(s, is_on, driver)
    s:cold_start "A"
    s:sleep(2)
    s:wake()
    s:reload { driver = driver, checkpoint = "B" }
    s:expect { params_differ = 0, side_differ = is_on and 1 or 0 }
  end,
}
