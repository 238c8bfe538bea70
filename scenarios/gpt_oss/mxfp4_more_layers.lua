-- Twice the layers of gpt_oss.mxfp4.trtllm.tp1.sync: every count doubles (R4: they come out of the mechanism).
local models = require "models.gpt_oss"

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.tp1.four_layers",
  note = "every count grows with the layers",
  tags = { "small", "R4.1" },
  model = models.gpt_oss_20b { layers = 4, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 1,
  policies = { "none", "record_and_fill" },
  allocator = { fresh = "zero", recycle_up_to = "16KiB", recycled = "garbage" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect {
      none = { params_differ = 16, params_lucky = 8, side_moved = 12, side_extra = 16, side_differ = 16 },
      record_and_fill = { params_differ = 0, side_moved = 12, side_extra = 16, fill_calls = 4, fill_regions = 40 },
    }
  end,
}
