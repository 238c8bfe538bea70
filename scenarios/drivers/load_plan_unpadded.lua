-- Without padding a load plan is as good as loaders.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.load_plan.unpadded",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 256, intermediate = 256 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "load_plan", checkpoint = "B", order = "shuffled", pieces = 3 }
    s:expect { params_differ = 0, params_lucky = 0, side_moved = 12, side_extra = 16 }
  end,
}
