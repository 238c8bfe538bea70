-- F1: every layerwise reload brings garbage padding to post-load: all six tensors of gpt-oss MXFP4. Silent.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "found.f01.padding_is_garbage",
  tags = { "found", "F1", "P1" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { none = { params_differ = 6 }, record_and_fill = { params_differ = 0 } }
  end,
}
