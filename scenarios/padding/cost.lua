-- What each policy does for one load of the gpt-oss model, 2 layers × 4 experts (R2.8). Regions of a layer: 2 for each weight
-- and scale, 1 for each bias, whatever the number of experts; the zeroing loader does each of them expert by expert.
local models = require "models.gpt_oss"

-- Bytes of one layer, H 224 → 256 and I 96 → 128, 4 experts:
--   w13 64 × 128 + 192 × 16, w13 scale 64 × 8 + 192 × 1, w2 32 × 64 + 224 × 16, w2 scale 32 × 4 + 224 × 1, biases (64 + 32) × 2
local bytes = 2 * 4 * (64 * 128 + 192 * 16 + 64 * 8 + 192 + 32 * 64 + 224 * 16 + 32 * 4 + 224 + (64 + 32) * 2)

return cs.scenario {
  name = "padding.cost",
  tags = { "small", "R2.8", "R4.14" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "none", "zero_in_loader", "record_and_fill" },
  run = function(s)
    local nothing = { fill_calls = 0, fill_regions = 0, fill_bytes = 0 }
    local per_expert = { fill_calls = 80, fill_regions = 80, fill_bytes = bytes }
    local per_module = { fill_calls = 2, fill_regions = 20, fill_bytes = bytes, fill_skipped = 0, warnings = 0 }
    s:cold_start "A"
    s:expect { none = nothing, zero_in_loader = per_expert, record_and_fill = per_module }
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { none = nothing, zero_in_loader = per_expert, record_and_fill = per_module }
    s:reload { driver = "direct", checkpoint = "C" }
    s:expect { none = nothing, zero_in_loader = per_expert, record_and_fill = per_module }
  end,
}
