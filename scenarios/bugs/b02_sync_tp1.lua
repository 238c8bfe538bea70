-- Reference pull request (P1): a sync from the trainer to TRT-LLM, TP1, every tensor changed: 96 padded parameters differ from a
-- fresh server, 4 in each of 24 layers. Large blocks come zeroed from the system; those up to 16 KiB were recycled. Two layers here.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "bugs.b02.sync_tp1",
  tags = { "bugs", "P1" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "none", "record_and_fill" },
  allocator = { fresh = "zero", recycle_up_to = "16KiB" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { none = { params_differ = 8 }, record_and_fill = { params_differ = 0 } }
  end,
}
