-- F15: fused 3-D checkpoints are read as if their experts were the physical ones: redundant (EPLB) experts stay uninitialised. Silent.
local models = require "models.qwen3"

local function scenario(fault)
  return cs.scenario {
    name = "found.f15.redundant_experts." .. (fault and "on" or "off"),
    tags = { "found", "F15", "T" },
    defects = fault and { "fused_expert_ids" } or {}, kills = fault and {} or { "fused_expert_ids" },
    model = models.qwen3_30b_a3b { layers = 1, experts = 4, hidden = 64, intermediate = 64 },
    method = "unquantized", backend = "triton", loader = "fused_3d", ep = 2,
    experts = { redundant = 2 },
    run = function(s)
      s:cold_start "A"
      s:expect(fault and cs.undetermined() or cs.equal())
      s:reload { driver = "layerwise", checkpoint = "B" }
      s:expect(fault and cs.undetermined() or cs.equal())
    end,
  }
end

return { scenario(true), scenario(false) }
