-- Recording and filling must not change a cold start (R4.9): every tensor of this model is equal to the one under `none`.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.cold_policies",
  note = "cold start under each policy against a cold start under none",
  tags = { "small", "R4.9" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 192 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  policies = { "zero_materialized", "zero_in_loader", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 0, side_differ = 0, against = { policy = "none" } }
  end,
}
