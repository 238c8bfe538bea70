-- ModelOpt FP8 with activation scales, layerwise: gate and up of an expert write the same slot, so that the count reaches its total one tensor
-- per expert early. The layer is processed, and what comes late is written into kernel tensors: an activation scale has no slots any more.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "backends.static_scales_come_late",
  model = models.gpt_oss_20b { layers = 1, experts = 4, hidden = 256, intermediate = 256 },
  method = "fp8_tensor_modelopt", backend = "triton",
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect(cs.refused "without slots for experts")
  end,
}
