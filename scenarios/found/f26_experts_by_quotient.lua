-- F26: the combined gpt-oss loaders hand every rank E / ep experts, rounded down, from rank * (E / ep) on, whatever experts the rank owns.
-- Of five experts over two ranks the first owns three, and refuses two. (Of three, each rank is handed one: the first copies it to both of
-- its experts, the second takes the wrong one, and every cold start agrees.)
local models = require "models.gpt_oss"

local function scenario(fault)
  return cs.scenario {
    name = "found.f26.experts_by_quotient." .. (fault and "on" or "off"),
    tags = { "found", "F26", "T" },
    defects = fault and { "experts_by_quotient" } or {}, kills = fault and {} or { "experts_by_quotient" },
    model = models.gpt_oss_20b { layers = 1, experts = 5, hidden = 64, intermediate = 64 },
    method = "gpt_oss_mxfp4", backend = "emulation", ep = 2,
    run = function(s)
      s:cold_start "A"
      s:expect(fault and cs.refused("hands every rank 2 of 5 experts") or cs.equal())
    end,
  }
end

return { scenario(true), scenario(false) }
