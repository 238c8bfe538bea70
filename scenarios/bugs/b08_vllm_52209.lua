-- vllm#52209 and the reference pull request (P5): the streamed per-expert loader splits by the padded size of a rank, so that rank 1 starts
-- inside its own rows. 6 blocks of 32 at TP2, 96 rows a rank, padded to 128: its share is 64 rows instead of 96.
local models, fault = require "models.gpt_oss", require "models.lib.fault"

return fault.pair {
  name = "bugs.b08.streamed_split",
  tags = { "bugs", "P5" },
  fault = "streamed_padded_split",
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 224, intermediate = 192 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B", loader = "gpt_oss_streamed" }
    s:expect { params_differ = is_on and 10 or 0 }
  end,
}
