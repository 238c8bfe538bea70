-- A tensor that is not sent, in a module that gets others, becomes garbage (found in the released engine): two routers
-- without their weight. A module that gets nothing keeps what it had, here the old norm. Both differ from a cold start of B.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.tp1.partial",
  note = "router weights and the last norm are not sent",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B", omit = { "*.router.weight", "model.norm.weight" } }
    s:expect { params_differ = 3, missing = 3, excess = 0, duplicate = 0 }
  end,
}
