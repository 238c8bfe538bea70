-- The published figure (R4.1): gpt-oss-20b at full size, one sync to a checkpoint with every tensor changed. Biases and scales
-- (at most 18.9 MB) are recycled blocks, weights (at least 144 MB) fresh, zero pages: 96 of the 144 expert tensors differ.
local models = require "models.gpt_oss"

local cured = { params_differ = 0, side_moved = 72, side_extra = 96, side_differ = 0 }

return cs.scenario {
  name = "full.gpt_oss_20b.trtllm.tp1.sync",
  note = "24 layers, 32 experts, 2880 to 3072",
  tags = { "full", "R4.1" },
  model = models.gpt_oss_20b(),
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", rounding = "reference", tp = 1,
  policies = { "none", "record_and_fill" },
  allocator = { fresh = "zero", recycle_up_to = "64MiB", recycled = "garbage" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect {
      none = { params_differ = 96, params_lucky = 48, side_moved = 72, side_extra = 96, side_differ = 96 },
      record_and_fill = cured,
    }
  end,
}
