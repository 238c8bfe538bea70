-- vllm#44371 (R1): Gemma4's router keeps a root size in a non-persistent buffer; a reload replaces it by what memory holds: 0.0188 → 1.0.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b66.root_size",
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
    s:expect(cs.equal())
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 1 or 0 }
  end,
}
