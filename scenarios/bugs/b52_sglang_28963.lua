-- sglang#28963 (L4): AITER's shuffle of FP8 weights in tiles of 16 x 16 runs twice over the same ones, and is not its own inverse.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "bugs.b52.double_shuffle",
  tags = { "bugs", "L4" },
  fault = "post_load_twice",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 128, intermediate = 128, fp8 = true },
  method = "fp8_block", backend = "aiter",
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 2 or 0 } -- w13 and w2; nothing happens to scales
  end,
}
