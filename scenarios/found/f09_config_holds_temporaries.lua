-- F9: after each reload the quant config and the kernel object point at the temporary tensors, and gate constants are made anew: per
-- layer 4 extra (scale and bias of w1 and w2) and 3 moved. Parameters are right, and graphs that were captured before are not.
local models = require "models.gpt_oss"

local function scenario(fault)
  return cs.scenario {
    name = "found.f09.config_holds_temporaries." .. (fault and "on" or "off"),
    tags = { "found", "F9", "S1", "S2" },
    fixes = fault and {} or { "side_tensors_rebuilt" }, kills = fault and {} or { "side_tensors_rebuilt" },
    model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 224, intermediate = 96 },
    method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B" }
      s:expect(fault and { params_differ = 0, side_moved = 3, side_extra = 4 } or cs.equal())
    end,
  }
end

return { scenario(true), scenario(false) }
