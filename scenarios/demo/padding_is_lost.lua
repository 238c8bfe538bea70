-- A trainer pushes new weights into a running gpt-oss server. Under today's rules the reload leaves garbage in the
-- padding, and post-load weaves it between real rows; recording the padding and filling it again cures that.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "demo.padding_is_lost",
  note = "The intermediate size 96 is rounded up to 128, the hidden size 224 to 256: no checkpoint byte goes there.",
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "record_and_fill" }, -- add --policy none to see the fault
  allocator = { fresh = "zero", recycle_up_to = "16KiB", recycled = "garbage" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0 }
  end,
}
