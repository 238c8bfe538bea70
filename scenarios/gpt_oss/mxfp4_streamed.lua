-- One tensor per expert, streamed by a trainer into a server that started from combined tensors: both loaders split the
-- intermediate dimension by whole 32-blocks, so the result is the same (R5.2), whoever recorded the padding (R1.3). A region
-- of one expert is recorded once for all experts (R2.1): as many regions as with combined tensors, whatever their number.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.tp2.streamed",
  note = "combined at the start, streamed in the reload",
  tags = { "small", "R1.3", "R2.1", "R5.2" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 192 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 0, fill_calls = 4, fill_regions = 40 }
    s:reload { driver = "layerwise", checkpoint = "B", loader = "gpt_oss_streamed" }
    s:expect { params_differ = 0, params_lucky = 0, fill_calls = 4, fill_regions = 40, missing = 0 }
    s:reload { driver = "direct", checkpoint = "C", loader = "gpt_oss_streamed", order = "shuffled" }
    s:expect { params_differ = 0, params_lucky = 0, fill_calls = 4, fill_regions = 40, missing = 0 }
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect { params_differ = 0, params_lucky = 0 }
  end,
}
