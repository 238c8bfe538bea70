-- F12: compressed-tensors FP8 static compares the input scales of gate and up while it counts, on the meta device, where there is nothing
-- to read: a layerwise reload always raises.
local models = require "models.qwen3"

local function scenario(fault)
  return cs.scenario {
    name = "found.f12.scales_must_agree." .. (fault and "on" or "off"),
    tags = { "found", "F12", "L3" },
    fixes = fault and {} or { "scales_must_agree", "over_counted" }, kills = fault and {} or { "scales_must_agree" },
    model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
    method = "fp8_tensor_ct", backend = cs.backend { name = "as_loaded", steps = {} }, quantization = { static_input = true },
    run = function(s)
      s:cold_start "A" -- gate and up have one scale, in copies too
      s:reload { driver = "layerwise", checkpoint = "B" }
      s:expect(fault and cs.refused("meta device") or { params_differ = 0 })
    end,
  }
end

return { scenario(true), scenario(false) }
