-- What zeroing padding in the loader costs on a rank of DeepSeek size (R4.14): 58 layers × 256 experts at TP4, 1920 / 4 = 480
-- rows rounded to 512. The hidden size is a multiple of 256 and has no padding, so each expert's load narrows five tensors: the
-- rows of w13, its scale and its bias, the columns of w2 and its scale. One launch per module does the same from records.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "full.zeroing_cost",
  note = "5 × 256 × 58 small fills on each rank",
  tags = { "full", "R4.14" },
  model = models.gpt_oss_20b { layers = 58, experts = 256, hidden = 256, intermediate = 1920 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", loader = "gpt_oss_streamed", tp = 4, rank = 0,
  policies = { "zero_in_loader", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect {
      zero_in_loader = { params_differ = 0, fill_calls = 74240, fill_regions = 74240 },
      record_and_fill = { params_differ = 0, fill_calls = 58, fill_regions = 58 * 5 },
    }
  end,
}
