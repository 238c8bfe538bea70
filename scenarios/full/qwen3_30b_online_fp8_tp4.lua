-- One layer of Qwen3-30B-A3B, quantised to FP8 blocks as it arrives, TP4, at full size (R4.5): 192 rows of a rank become 256, and the padding is
-- zeroed before. Three regions are recorded for each rank: rows of gate, rows of up, columns of down.
local models = require "models.qwen3"

return cs.scenario {
  name = "full.qwen3_30b.online_fp8.trtllm.tp4",
  note = "128 experts, 2048 × 768",
  tags = { "full", "R4.5" },
  model = models.qwen3_30b_a3b { layers = 1 },
  method = "online_fp8_block", backend = "flashinfer_trtllm", tp = 4,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect {
      none = { params_differ = 0, side_extra = 2 * 4, side_moved = 0, fill_regions = 0 },
      record_and_fill = { params_differ = 0, side_extra = 2 * 4, side_moved = 0, fill_regions = 3 * 4 },
    }
  end,
}
