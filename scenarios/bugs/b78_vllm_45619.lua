-- vllm#45619 (W): a wake that maps the KV cache only writes buffers into unmapped memory, and forgets them: they are lost when weights come.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b78.wake",
  tags = { "bugs", "small" },
  fault = "wake_forgets_buffers",
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
    s:sleep(2)
    s:wake()
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 1 or 0 }
  end,
}
