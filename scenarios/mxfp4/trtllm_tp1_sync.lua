-- MXFP4 without biases, one tensor per expert and projection: only the two scales of each layer can differ, only they are
-- in the quant config, and no experts object owns constants (R4: 2 ≠, 2 extra and 0 moved per layer).
local models = require "models.gpt_oss"

return cs.scenario {
  name = "mxfp4.trtllm.tp1.sync",
  note = "generic MXFP4, no biases",
  tags = { "small", "R4.1" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "mxfp4", backend = "flashinfer_trtllm", tp = 1,
  policies = { "none", "record_and_fill" },
  allocator = { fresh = "zero", recycle_up_to = "16KiB", recycled = "garbage" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect {
      none = { params_differ = 4, params_lucky = 4, side_moved = 0, side_extra = 4, side_differ = 4 },
      -- Per layer 12 regions: gate, up and down are each narrowed by rows and by columns, for the weight and its scale.
      record_and_fill = { params_differ = 0, side_moved = 0, side_extra = 4, side_differ = 0, fill_calls = 2, fill_regions = 24 },
    }
  end,
}
