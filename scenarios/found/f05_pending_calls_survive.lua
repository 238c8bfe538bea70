-- F5: a reload breaks off; its calls stay, and are replayed and counted before the next reload's: values of two checkpoints are mixed,
-- and the tail of the next one is lost. Silent.
local models = require "models.gpt_oss"

local function scenario(fault)
  return cs.scenario {
    name = "found.f05.pending_calls." .. (fault and "on" or "off"),
    tags = { "found", "F5", "X" },
    fixes = fault and {} or { "pending_calls_survive" }, kills = fault and {} or { "pending_calls_survive" },
    model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 256, intermediate = 128 },
    method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B", only = { "*.gate_up_proj_blocks" }, stop_after = 1 }
      s:reload { driver = "layerwise", checkpoint = "C" }
      -- w13_weight counts twice, as in F4
      s:expect { params_differ = fault and 5 or 0 }
    end,
  }
end

return { scenario(true), scenario(false) }
