-- dynamo#9854 (R8): the expert map of a meta-built shadow is read before it is there. A reload that puts maps on the meta device too loses it
-- when the module gets its tensors.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b72.expert_map",
  tags = { "bugs", "small", "R8" },
  fault = "maps_reset",
  model = cs.model {
    name = "experts_with_map", layers = 1, hidden = 8,
    modules = {
      cs.module {
        name = "experts",
        tensors = {
          { name = "weight", shape = "H", dtype = "f32", created = "empty" },
          { name = "_expert_map", shape = 4, dtype = "i32", created = "arange", kind = "persistent_buffer" },
        },
      },
    },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 1 or 0 }
  end,
}
