-- Block-aligned FP8 tensor parallelism (R4.12): 5 blocks of 128 over 4 ranks, so that rank 2 has half of what it holds and rank 3 nothing. The
-- loader writes no constant: weights are padded with 0 and scales with 1 by the fill alone.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "fp8_block.block_aligned",
  tags = { "R4.12" },
  model = models.gpt_oss_20b { layers = 2, experts = 2, hidden = 128, intermediate = 640 },
  method = "fp8_block", backend = "flashinfer_trtllm", tp = 4,
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0 }
  end,
}
