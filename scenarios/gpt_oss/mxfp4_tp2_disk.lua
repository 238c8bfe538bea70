-- TP2, from disk: to a changed checkpoint twice, then back to the original (R4.2). The allocator is a caching one: size
-- classes up to 10 KiB and exact sizes above, each rank's first block of a class still fresh on the first reload. The
-- smallest class holds norms and routers, which are loaded whole and therefore never differ.
local models = require "models.gpt_oss"

local cured = { params_differ = 0, side_moved = 12, side_extra = 16, side_differ = 0 }
local function expect(s, none)
  s:expect { none = none, zero_materialized = cured, zero_in_loader = cured, record_and_fill = cured }
end

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.tp2.disk",
  note = "to B, to B again, back to A",
  tags = { "small", "R4.2" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 192 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  policies = { "none", "zero_materialized", "zero_in_loader", "record_and_fill" },
  allocator = {
    fresh = "zero", recycle_up_to = "all", recycled = "garbage",
    classes = { "1800B", "3KiB", "10KiB" }, fresh_first = 1,
  },
  run = function(s)
    s:cold_start "A"
    -- 24 expert tensors; of each rank the first w13, w13 scale, w13 bias and w2 came from fresh pages: 24 - 2 × 4.
    s:reload { driver = "layerwise", checkpoint = "B" }
    expect(s, { params_differ = 16, side_moved = 12, side_extra = 16, side_differ = 12 })
    s:reload { driver = "layerwise", checkpoint = "B" }
    expect(s, { params_differ = 24, side_moved = 12, side_extra = 16, side_differ = 16 })
    -- Back at the original, 40 tensors differ from the first cold start: 24 parameters and the config's 16 orphan copies.
    s:reload { driver = "layerwise", checkpoint = "A" }
    expect(s, { params_differ = 24, side_moved = 12, side_extra = 16, side_differ = 16 })
  end,
}
