-- vllm#50523 (P1): a reload of the very same weights changes every output token. gpt-oss-20b, MXFP4, layerwise, the same checkpoint
-- twice: 138 of 144 tensors differ, then 135, addresses stable. Here: one layer of six tensors.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "bugs.b01.same_weights_twice",
  tags = { "bugs", "P1" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _ = 1, 2 do
      s:reload { driver = "layerwise", checkpoint = "A" }
      s:expect { none = { params_differ = 6, params_moved = 0 }, record_and_fill = { params_differ = 0, params_moved = 0 } }
    end
  end,
}
