-- F13: the combined BF16 loader of gpt-oss copies without the parameter's weight loader: nothing is counted, the values land in meta
-- tensors, and a reload keeps all old expert weights and biases, with a warning. Silent otherwise.
local models = require "models.gpt_oss"

local function scenario(fault)
  return cs.scenario {
    name = "found.f13.bare_copies." .. (fault and "on" or "off"),
    tags = { "found", "F13", "L10" },
    fixes = fault and {} or { "bare_copies_lost" }, kills = fault and {} or { "bare_copies_lost" },
    model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
    method = "unquantized", backend = "triton", loader = "gpt_oss_bf16_combined",
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B" }
      s:expect { params_differ = fault and 2 or 0 } -- w13_weight and w2_weight
    end,
  }
end

return { scenario(true), scenario(false) }
