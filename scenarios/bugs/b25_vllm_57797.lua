-- vllm#57797, #57801 (P12, L10): attention has padded heads, switched off by a sink of −inf. The loader writes the real heads only: after a
-- reload the padded ones hold anything, unless the padding value is recorded and filled.
local off = -2.0 ^ 100 -- numbers of scenarios are finite

return cs.scenario {
  name = "bugs.b25.padded_heads",
  tags = { "bugs", "toy", "P12" },
  policies = { "none", "record_and_fill" },
  model = cs.toy {
    params = { { name = "sinks", shape = 4, dtype = "f32", created = "value", value = off, padding_value = off } },
    loads = {
      A = { { param = "sinks", shape = 3, value = 0.5, marks = { { at = 3, shape = 1 } } } },
      B = { { param = "sinks", shape = 3, value = 0.25, marks = { { at = 3, shape = 1 } } } },
    },
  },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { none = { params_differ = 1 }, record_and_fill = { params_differ = 0, values = { sinks = { 0.25, 0.25, 0.25, off } } } }
  end,
}
