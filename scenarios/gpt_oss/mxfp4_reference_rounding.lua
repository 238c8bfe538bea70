-- The intermediate dimension rounded to 256 instead of 128, as in the published figures: other sizes, the same counts (R4).
local models = require "models.gpt_oss"

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.tp1.reference_rounding",
  note = "I 96 to 256 instead of 128",
  tags = { "small", "R4.1" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", rounding = "reference", tp = 1,
  policies = { "none", "record_and_fill" },
  allocator = { fresh = "zero", recycle_up_to = "16KiB", recycled = "garbage" }, -- w13 scale 16 KiB, w2 128 KiB
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect {
      none = { params_differ = 8, params_lucky = 4, side_moved = 6, side_extra = 8, side_differ = 8 },
      record_and_fill = { params_differ = 0, side_moved = 6, side_extra = 8, side_differ = 0 },
    }
  end,
}
