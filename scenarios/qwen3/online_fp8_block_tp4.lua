-- Qwen3-30B-A3B in BF16, quantised to FP8 blocks when a layer is complete (R4.5): 48 rows of a rank become 128, and the padding is zeroed
-- before. Three regions of each layer are recorded: rows of gate, rows of up, columns of down. 48 layers: 144 for a rank.
local models = require "models.qwen3"

return cs.scenario {
  name = "qwen3.online_fp8_block_tp4",
  tags = { "R4.5" },
  model = models.qwen3_30b_a3b { experts = 1, hidden = 128, intermediate = 192 },
  method = "online_fp8_block", backend = "flashinfer_trtllm", tp = 4, rank = 3,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect {
      none = { params_differ = 0, side_extra = 2 * 48, side_moved = 0, fill_regions = 0 },
      record_and_fill = { params_differ = 0, side_extra = 2 * 48, side_moved = 0, fill_regions = 144 },
    }
  end,
}
