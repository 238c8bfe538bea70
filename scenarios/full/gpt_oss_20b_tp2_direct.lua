-- Direct mode at full size, two reloads (R4.3). Of 24 layers × 2 ranks × {w13, w2} × {bias, scale}, 192 as published, the w2
-- biases of rank 1 are right: only rank 0 adds that bias, rank 1 loads zeros, and stale zeros are the right padding. 192 - 24.
-- Where every rank adds it (a fault of its own), all 192 are wrong.
local models = require "models.gpt_oss"

local function case(name, note, defects, differ)
  return cs.scenario {
    name = "full.gpt_oss_20b.trtllm.tp2." .. name,
    note = note,
    tags = { "full", "R4.3" },
    defects = defects,
    model = models.gpt_oss_20b(),
    method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", rounding = "reference", tp = 2,
    policies = { "none", "record_and_fill" },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "direct", checkpoint = "B" }
      s:reload { driver = "direct", checkpoint = "C" }
      s:expect {
        none = { params_differ = differ, side_moved = 144, side_extra = 0 },
        record_and_fill = { params_differ = 0, side_moved = 144, side_extra = 0, side_differ = 0 },
      }
    end,
  }
end

return {
  case("direct", "in place, twice", {}, 168),
  case("direct.bias_on_every_rank", "the biases of rank 1 are no zeros", { "bias_on_every_rank" }, 192),
}
