-- F8: KV-cache scales that the second checkpoint does not have keep the first one's values, on the device and in the Python floats that
-- launches were captured with; a cold start gives 1. Silent, layerwise and in place. A load that does not send them all the same leaves them.
local fault = require "models.lib.fault"

return fault.pair {
  name = "found.f08.kv_scales",
  tags = { "found", "F8", "R6", "V8" },
  standing = "kv_scales_kept",
  model = cs.model {
    name = "attention", layers = 1, hidden = 64,
    modules = {
      cs.module { name = "attn", attention = true },
      cs.module { name = "norm", tensors = { { name = "weight", shape = "H", dtype = "bf16", created = "ones" } } },
    },
  },
  checkpoints = { A = cs.synthetic(), B = cs.without_optional() },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "A", only = { "norm.weight" } }
    s:expect { params_differ = 0, side_differ = 0 }
    for _, driver in ipairs { "layerwise", "direct" } do
      s:reload { driver = driver, checkpoint = "B" }
      s:expect(is_on and { params_differ = 2, side_differ = 2 } or cs.equal()) -- k and v, on the device and as numbers
      s:reload { driver = driver, checkpoint = "A" }
      s:expect(cs.equal())
    end
  end,
}
