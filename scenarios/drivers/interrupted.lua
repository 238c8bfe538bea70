-- An interrupted load leaves its buffered calls behind, and the next load's are counted on top of them (F5). After three expert
-- tensors of B (46 080 of 105 472 elements) A's first four fill the count: what A sends then, w2's scales and bias, is lost. The
-- lost ones hold what memory held, whatever the policy; without padding records nothing is right.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.interrupted.layerwise",
  tags = { "small", "F5" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B", stop_after = 7 } -- two norms, the router, three tensors of experts
    s:reload { driver = "layerwise", checkpoint = "A" }
    s:expect { none = { params_differ = 6, excess = 2 }, record_and_fill = { params_differ = 2, excess = 2 } }
    s:reload { driver = "layerwise", checkpoint = "B" } -- nothing is left over
    s:expect { none = { params_differ = 6, excess = 0 }, record_and_fill = { params_differ = 0, excess = 0 } }
  end,
}
