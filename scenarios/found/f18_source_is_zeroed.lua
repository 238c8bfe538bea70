-- F18: ranks other than 0 zero the incoming down_proj_bias itself: whoever shares the tensor, or keeps it for a second load, has zeros.
local models = require "models.gpt_oss"

local function scenario(fault)
  return cs.scenario {
    name = "found.f18.source_is_zeroed." .. (fault and "on" or "off"),
    tags = { "found", "F18", "L11" },
    defects = fault and { "source_zeroed" } or {}, kills = fault and {} or { "source_zeroed" },
    model = models.gpt_oss_20b { layers = 2, experts = 2, hidden = 64, intermediate = 128 },
    method = "gpt_oss_mxfp4", backend = "emulation", tp = 2,
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B", bucket = 4 }
      s:expect { source_differ = fault and 2 or 0 } -- one for each layer
    end,
  }
end

return { scenario(true), scenario(false) }
