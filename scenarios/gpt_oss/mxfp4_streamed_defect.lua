-- The released streamed loader splits by the padded size (R5.2): rank 0 takes 64 of its neighbour's rows into its padding,
-- rank 1 starts too late. All five split tensors of each layer and rank are wrong; w2_bias is not split. Filling padding
-- cannot help: what is wrong was loaded.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.tp2.streamed_padded_split",
  note = "128 padded rows per rank instead of 96",
  tags = { "small", "R5.2" },
  defects = { "streamed_padded_split" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 192 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  policies = { "none", "record_and_fill" },
  allocator = { fresh = "zero", recycle_up_to = 0 },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B", loader = "gpt_oss_streamed" }
    s:expect { params_differ = 20 }
  end,
}
