-- Direct mode, two reloads (R4.3): padding holds the previous update's kernel bytes. Scales are wrong because the swizzle
-- scatters their padding, biases because f32 results are hosted as bf16. Weights stay right: 2·I and H are multiples of
-- 32, so their padding rows stay where they were. Rank 1's w2_bias stays right too: only rank 0 adds that bias, rank 1
-- loads zeros, and stale zeros are the right padding. So 2 layers × (4 + 3) tensors, and 3 gate constants per layer and rank.
-- Where every rank adds it (a fault of its own), w2_bias of rank 1 is wrong as the others are: 2 layers × 2 ranks × 4.
local models = require "models.gpt_oss"

local function case(name, note, defects, differ)
  local stale = { params_differ = differ, params_lucky = 0, side_moved = 12, side_extra = 0, side_differ = 0 }
  local cured = { params_differ = 0, params_lucky = 0, side_moved = 12, side_extra = 0, side_differ = 0 }
  return cs.scenario {
    name = "gpt_oss.mxfp4.trtllm.tp2." .. name,
    note = note,
    tags = { "small", "R4.3" },
    defects = defects,
    model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 192 },
    method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
    policies = { "none", "zero_materialized", "zero_in_loader", "record_and_fill" },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "direct", checkpoint = "B" }
      s:reload { driver = "direct", checkpoint = "C" }
      s:expect { none = stale, zero_materialized = stale, zero_in_loader = cured, record_and_fill = cured }
    end,
  }
end

return {
  case("direct", "in place, twice", {}, 14),
  case("direct.bias_on_every_rank", "the bias of rank 1 is no zero", { "bias_on_every_rank" }, 16),
}
