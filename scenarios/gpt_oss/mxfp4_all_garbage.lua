-- gpt_oss.mxfp4.trtllm.tp1.sync over memory that is never zero: no tensor is equal by luck any more, all 12 differ (R4).
local models = require "models.gpt_oss"

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.tp1.all_garbage",
  note = "6 expert tensors per layer",
  tags = { "small", "R4.1" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 1,
  policies = { "none", "record_and_fill" },
  allocator = { fresh = "random", recycle_up_to = "all", recycled = "garbage" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect {
      none = { params_differ = 12, params_lucky = 0, side_moved = 6, side_extra = 8, side_differ = 8 },
      record_and_fill = { params_differ = 0, params_lucky = 0, side_moved = 6, side_extra = 8, side_differ = 0 },
    }
  end,
}
