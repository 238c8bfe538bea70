-- The same sync over memory that is never zero: all 144 expert tensors differ, none is lucky.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "full.gpt_oss_20b.trtllm.tp1.all_garbage",
  note = "24 layers × 6 expert tensors",
  tags = { "full", "R4.1" },
  model = models.gpt_oss_20b(),
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", rounding = "reference", tp = 1,
  policies = { "none" },
  allocator = { fresh = "random", recycle_up_to = "all", recycled = "garbage" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 144, params_lucky = 0, side_moved = 72, side_extra = 96, side_differ = 96 }
  end,
}
