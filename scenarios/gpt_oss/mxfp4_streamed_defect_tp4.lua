-- The same defect at TP4: 320 rows of each half in 10 blocks, 128 padded rows per rank; rank 3 would start at row 768 of 640.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.tp4.streamed_padded_split",
  note = "the last rank starts past the end",
  tags = { "small", "R5.2" },
  defects = { "streamed_padded_split" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 224, intermediate = 320 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 4,
  policies = { "none" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B", loader = "gpt_oss_streamed" }
    s:expect(cs.refused "rank 3 starts at 768 of 640")
  end,
}
