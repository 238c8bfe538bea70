-- F11: compressed-tensors WNA16 has two shape vectors for each expert and one slot: they over-count like F10's scales. Channel-wise, with few
-- rows of scales, the layer is processed too early.
local models = require "models.qwen3"

-- Post-load doubles shapes and scales: what comes too late is not doubled.
local backend = cs.backend {
  name = "doubled_scales",
  steps = {
    cs.map("w13_weight_scale", "bf16", "w13_weight_scale + w13_weight_scale"), cs.replace "w13_weight_scale",
    cs.map("w2_weight_scale", "bf16", "w2_weight_scale + w2_weight_scale"), cs.replace "w2_weight_scale",
    cs.map("w13_weight_shape", "f32", "w13_weight_shape + w13_weight_shape"), cs.replace "w13_weight_shape",
    cs.map("w2_weight_shape", "f32", "w2_weight_shape + w2_weight_shape"), cs.replace "w2_weight_shape",
  },
}

local function scenario(fault)
  return cs.scenario {
    name = "found.f11.two_shapes." .. (fault and "on" or "off"),
    tags = { "found", "F11", "L6" },
    fixes = fault and {} or { "over_counted" },
    model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
    method = "ct_wna16", backend = backend, quantization = { per_channel = true },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B" }
      -- four elements too early: up's and down's shapes of the last expert come late
      s:expect { params_differ = fault and 2 or 0 }
    end,
  }
end

return { scenario(true), scenario(false) }
