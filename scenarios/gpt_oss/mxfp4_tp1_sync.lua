-- A sync under today's rules leaves garbage where no checkpoint byte goes; recording the padding cures it (R4.1).
local models = require "models.gpt_oss"

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.tp1.sync",
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 1,
  policies = { "none", "record_and_fill" },
  allocator = { fresh = "zero", recycle_up_to = "16KiB", recycled = "garbage" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect {
      none = { params_differ = 8, side_moved = 6, side_extra = 8 },
      record_and_fill = { params_differ = 0, side_moved = 6, side_extra = 8 },
    }
  end,
}
