-- F16: generic MXFP4 with 48 rows a rank: weights are split by elements, scales by whole blocks, so that each rank's second scale of
-- w2 is lost. A reload agrees with a cold start, which is wrong in the same way; the padding shows it: as released, w2_weight_scale has
-- one column of 3 more than the 32-element blocks of its weights say.
local models = require "models.qwen3"

local function scenario(fault)
  return cs.scenario {
    name = "found.f16.partial_block." .. (fault and "on" or "off"),
    tags = { "found", "F16", "P9" },
    fixes = fault and {} or { "partial_block_scale_lost" }, kills = fault and {} or { "partial_block_scale_lost" },
    model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 64, intermediate = 96 },
    method = "mxfp4", backend = "emulation", tp = 2,
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B" }
      s:expect { params_differ = 0 }
    end,
  }
end

return { scenario(true), scenario(false) }
