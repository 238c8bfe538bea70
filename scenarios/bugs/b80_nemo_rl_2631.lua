-- nemo-rl#2631 (W, R1): a vision-language model diverges at token 0 after each sleep of level 2 and reload from disk.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b80.level_2_cycles",
  tags = { "bugs", "small" },
  fault = "buffers_overwritten",
  model = cs.model {
    name = "router", layers = 1, hidden = 8,
    modules = {
      cs.module {
        name = "router",
        tensors = {
          { name = "weight", shape = "H", dtype = "f32", created = "empty" },
          { name = "root_size", shape = 1, dtype = "f32", created = "value", value = 0.01875, kind = "buffer" },
        },
      },
    },
  },
  run = function(s, is_on)
    s:cold_start "A"
    for _ = 1, 2 do
      s:sleep(2)
      s:wake()
      s:reload { driver = "layerwise", checkpoint = "C" }
    end
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 1 or 0 }
  end,
}
