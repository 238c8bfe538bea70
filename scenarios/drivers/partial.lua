-- What is not sent is not loaded (F6): in a module that received anything, everything else is what memory held. Direct reload
-- keeps the old checkpoint's values, in kernel layout: post-load turns them once more.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.partial",
  tags = { "small", "F6" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "A", only = { "model.layers.0.*.gate_up_proj_scales" } }
    s:expect { params_differ = 5, missing = 20 } -- the other five of layer 0's experts; what got nothing keeps its values
    s:reload { driver = "layerwise", checkpoint = "A" }
    s:expect { params_differ = 0 }
    s:reload { driver = "layerwise", checkpoint = "B", omit = { "*.router.weight" } }
    s:expect { params_differ = 2, missing = 2 } -- its bias was sent, so the module was rematerialised
  end,
}
