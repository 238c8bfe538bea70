-- The same as released (R4.12): the loader fills what it will not write, on every call, so that nothing is left to record.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "fp8_block.block_aligned_released",
  tags = { "R4.12" },
  model = models.gpt_oss_20b { layers = 2, experts = 2, hidden = 128, intermediate = 640 },
  method = "fp8_block", backend = "flashinfer_trtllm", tp = 4,
  defects = { "block_loader_fills" },
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, fill_calls = 0 }
  end,
}
