-- A back end that rounds nothing has nothing to lose (R4.8): parameters are equal whatever the policy. The quant config is
-- rebuilt all the same, so its four tensors per layer become orphan copies; there are no gate constants to move.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "gpt_oss.mxfp4.emulation.sync",
  note = "no rounding, no relayout",
  tags = { "small", "R4.8" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 256, intermediate = 128 },
  method = "gpt_oss_mxfp4", backend = "emulation", tp = 1,
  policies = { "none", "zero_materialized", "zero_in_loader", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    local equal = { params_differ = 0, params_lucky = 0, side_moved = 0, side_extra = 8, side_differ = 0, fill_regions = 0 }
    -- zero_materialized does its work for nothing: 21 parameters but for the two router biases, which stay live.
    local zeroed = { params_differ = 0, params_lucky = 0, side_moved = 0, side_extra = 8, side_differ = 0, fill_regions = 19 }
    s:expect { none = equal, zero_materialized = zeroed, zero_in_loader = equal, record_and_fill = equal }
  end,
}
