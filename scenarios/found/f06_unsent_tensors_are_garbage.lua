-- F6: one tensor of a module is sent, from the checkpoint that it holds: the five others become garbage. Silent.
local models = require "models.gpt_oss"

local function scenario(fault)
  return cs.scenario {
    name = "found.f06.unsent_tensors." .. (fault and "on" or "off"),
    tags = { "found", "F6", "R5" },
    fixes = fault and {} or { "unsent_is_undefined" }, kills = fault and {} or { "unsent_is_undefined" },
    model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 224, intermediate = 96 },
    method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "A", only = { "*.gate_up_proj_bias" } }
      s:expect { params_differ = fault and 5 or 0 }
    end,
  }
end

return { scenario(true), scenario(false) }
