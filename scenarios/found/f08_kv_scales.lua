-- F8: KV-cache scales that the second checkpoint does not have keep the first one's values, on the device and in the Python floats that
-- launches were captured with; a cold start gives 1. Silent. A checkpoint that has them is loaded as it should be.
local function scenario(fault)
  return cs.scenario {
    name = "found.f08.kv_scales." .. (fault and "on" or "off"),
    tags = { "found", "F8", "R6", "V8" },
    model = cs.model {
      name = "attention", layers = 1, hidden = 64,
      modules = {
        cs.module { name = "attn", attention = true },
        cs.module { name = "norm", tensors = { { name = "weight", shape = "H", dtype = "bf16", created = "ones" } } },
      },
    },
    checkpoints = { A = cs.synthetic(), B = fault and cs.without_optional() or cs.perturbed "A" },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B" }
      -- k and v, on the device and as numbers
      s:expect(fault and { params_differ = 2, side_differ = 2 } or cs.equal())
    end,
  }
end

return { scenario(true), scenario(false) }
