-- A sync under today's rules leaves garbage where no checkpoint byte goes; recording the padding cures it (R4.1).
-- Biases and scales are small enough to be recycled blocks, weights come from fresh, zero pages: by luck they are equal.
local models = require "models.gpt_oss"

local o = cs.declare {
  layers = { 2, "decoder layers", least = 1 },
  experts = { 4, "experts of each layer", least = 1 },
}

-- Of each layer 3 gate constants move, and 4 tensors of the quant config are orphans.
local moved, extra = 3 * o.layers, 4 * o.layers
local cured = { params_differ = 0, params_lucky = 0, side_moved = moved, side_extra = extra, side_differ = 0 }

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.tp1.sync",
  note = "one layerwise sync to a checkpoint with every tensor changed",
  tags = { "small", "R4.1" },
  model = models.gpt_oss_20b { layers = o.layers, experts = o.experts, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 1,
  policies = { "none", "zero_materialized", "zero_in_loader", "record_and_fill" },
  allocator = { fresh = "zero", recycle_up_to = 4096 * o.experts, recycled = "garbage" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect {
      -- {w13, w2} × {bias, scale} of each layer; w13 and w2 themselves only by luck not.
      none = {
        params_differ = 4 * o.layers, params_lucky = 2 * o.layers,
        side_moved = moved, side_extra = extra, side_differ = extra,
      },
      zero_materialized = cured, zero_in_loader = cured, record_and_fill = cured,
    }
  end,
}
