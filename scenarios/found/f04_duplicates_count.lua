-- F4: a tensor that comes twice counts twice, so that the layer is processed one tensor early. What comes after is lost for models
-- that looked their parameters up before (gpt-oss), and written raw into the kernel's layout for those that look again. Silent.
local gpt_oss, qwen3 = require "models.gpt_oss", require "models.qwen3"

local function dropped(fault)
  return cs.scenario {
    name = "found.f04.dropped." .. (fault and "on" or "off"),
    tags = { "found", "F4", "L7" },
    fixes = fault and {} or { "duplicates_count" }, kills = fault and {} or { "duplicates_count" },
    model = gpt_oss.gpt_oss_20b { layers = 1, experts = 2, hidden = 256, intermediate = 128 },
    method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B", duplicate = { "*.gate_up_proj_blocks" } }
      -- twice w13's 2 × 256 × 128 bytes is more than all there is: only w13_weight has arrived by then
      s:expect { params_differ = fault and 5 or 0, duplicate = 1 }
    end,
  }
end

local function raw(fault)
  return cs.scenario {
    name = "found.f04.raw." .. (fault and "on" or "off"),
    tags = { "found", "F4", "L1" },
    fixes = fault and {} or { "late_calls_are_raw" }, kills = fault and {} or { "late_calls_are_raw" },
    model = qwen3.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 128, intermediate = 128 },
    method = "unquantized", backend = "flashinfer_trtllm",
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B" }
      -- the layer is complete, and its last tensor comes once more
      s:reload { driver = "layerwise", checkpoint = "A", duplicate = { "*.experts.1.down_proj.weight" } }
      s:expect { params_differ = fault and 1 or 0, duplicate = 1 }
    end,
  }
end

return { dropped(true), dropped(false), raw(true), raw(false) }
