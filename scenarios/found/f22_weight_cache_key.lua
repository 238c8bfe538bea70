-- F22: the weight cache's key hashes headers, not bytes: two fine-tunes of one size share their weights. Silent.
local models = require "models.gpt_oss"

local function scenario(fault)
  return cs.scenario {
    name = "found.f22.weight_cache_key." .. (fault and "on" or "off"),
    tags = { "found", "F22", "C" },
    defects = fault and { "cache_key_of_headers" } or {}, kills = fault and {} or { "cache_key_of_headers" },
    model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
    method = "gpt_oss_mxfp4", backend = "emulation",
    checkpoints = { A = cs.synthetic(), B = cs.perturbed "A" },
    run = function(s)
      s:cold_start { driver = "meta_build", checkpoint = "B" }
      s:expect { params_differ = fault and 11 or 0 } -- all: 6 of the experts, router weight and bias, 3 norms
    end,
  }
end

return { scenario(true), scenario(false) }
