-- gpt-oss quantised by Quark, one checkpoint tensor for all experts. Its biases always come; a layer has room for them only when it is
-- configured with biases. The loader copies whole tensors, so that sizes must not need padding, and its bare copies never reach a layerwise
-- reload (F13): all six parameters of the layer stay as they were. In place they arrive.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "layers.quark_mx_combined",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 256, intermediate = 256 },
  method = "quark_mx", backend = "emulation", loader = "gpt_oss_quark_mx_combined",
  experts = { bias = true },
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 6 }
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { params_differ = 0, missing = 0, excess = 0 }
  end,
}
