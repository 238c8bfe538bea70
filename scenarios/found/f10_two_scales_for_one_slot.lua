-- F10: FP8 static per tensor: gate's and up's input scales both count for one slot, so that the layer is processed before its last
-- tensors have come.
local models = require "models.qwen3"

-- Post-load doubles every scale: what comes too late is not doubled.
local backend = cs.backend {
  name = "doubled_scales",
  steps = {
    cs.map("w13_weight_scale", "f32", "w13_weight_scale + w13_weight_scale"), cs.replace "w13_weight_scale",
    cs.map("w2_weight_scale", "f32", "w2_weight_scale + w2_weight_scale"), cs.replace "w2_weight_scale",
    cs.map("w13_input_scale", "f32", "w13_input_scale + w13_input_scale"), cs.replace "w13_input_scale",
    cs.map("w2_input_scale", "f32", "w2_input_scale + w2_input_scale"), cs.replace "w2_input_scale",
  },
}

local function scenario(fault)
  return cs.scenario {
    name = "found.f10.two_scales." .. (fault and "on" or "off"),
    tags = { "found", "F10", "L6" },
    fixes = fault and {} or { "over_counted" }, kills = fault and {} or { "over_counted" },
    model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
    method = "fp8_tensor", backend = backend, quantization = { static_input = true },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B" }
      -- two elements too early, one for each expert: up's and down's input scales of the last expert come late
      s:expect { params_differ = fault and 2 or 0 }
    end,
  }
end

return { scenario(true), scenario(false) }
