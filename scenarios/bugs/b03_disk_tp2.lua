-- Reference pull request (P1): reload from disk at TP2, A → B → B → A. All padded tensors differ, 6 of a layer and rank, and back at A
-- nothing is as it was first.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "bugs.b03.disk_tp2",
  tags = { "bugs", "P1" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 224, intermediate = 192 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { none = { params_differ = 12 }, record_and_fill = { params_differ = 0 } }
    end
  end,
}
