-- The published figure (R4.2): TP2, to a changed checkpoint twice, then back to the original. A caching allocator: blocks up
-- to 1 MiB and up to 10 MiB share a class, larger ones have their exact size, and each rank's first block of a class is still
-- fresh on the first reload: 288 - 2 × 4. Norms and routers are a class of their own; they are loaded whole.
local models = require "models.gpt_oss"

local cured = { params_differ = 0, side_moved = 144, side_extra = 192, side_differ = 0 }
local function expect(s, none) s:expect { none = none, record_and_fill = cured } end

return cs.scenario {
  name = "full.gpt_oss_20b.trtllm.tp2.disk",
  note = "to B, to B again, back to A",
  tags = { "full", "R4.2" },
  model = models.gpt_oss_20b(),
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", rounding = "reference", tp = 2,
  policies = { "none", "record_and_fill" },
  allocator = {
    fresh = "zero", recycle_up_to = "all", recycled = "garbage",
    classes = { "190KiB", "1MiB", "10MiB" }, fresh_first = 1,
  },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    expect(s, { params_differ = 280, side_moved = 144, side_extra = 192 })
    s:reload { driver = "layerwise", checkpoint = "B" }
    expect(s, { params_differ = 288, side_moved = 144, side_extra = 192, side_differ = 192 })
    -- 480 tensors differ from the first cold start: 288 parameters and the quant configs' 192 orphan copies.
    s:reload { driver = "layerwise", checkpoint = "A" }
    expect(s, { params_differ = 288, side_moved = 144, side_extra = 192, side_differ = 192 })
  end,
}
