-- ROCm/vllm#849 (S8): AITER's shuffled BF16 weights are new tensors after each sleep, wake and reload; captured graphs read the old ones: random
-- characters.
local models, fault = require "models.mixtral", require "models.lib.fault"

return fault.pair {
  name = "bugs.b45.new_tensor",
  tags = { "bugs", "S8" },
  fault = "new_objects_placed",
  model = models.mixtral_8x7b { layers = 1, experts = 2, hidden = 128, intermediate = 128 },
  method = "unquantized", backend = "aiter",
  run = function(s, is_on)
    s:cold_start "A"
    s:sleep(2)
    s:wake()
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, params_moved = is_on and 6 or 0 } -- w13 and w2, and whatever else the reload made anew
  end,
}
