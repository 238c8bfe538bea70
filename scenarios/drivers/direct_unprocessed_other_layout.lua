-- Biases that kernels read as f32 are hosted as bf16: another layout than graphs know, and no post-load to turn them back.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.direct_unprocessed.refused",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 256, intermediate = 128 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "direct_unprocessed", checkpoint = "B" }
    s:expect(cs.refused "another address, shape, stride or dtype")
  end,
}
