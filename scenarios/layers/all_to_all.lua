-- DeepEP's kernels send whole rows of 512 bytes: a hidden size of 224 becomes 256, in columns of w13 and rows of w2.
local models = require "models.qwen3"

return cs.scenario {
  name = "layers.all_to_all",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 224, intermediate = 64 },
  method = "unquantized", backend = "triton", ep = 2,
  all2all = "deepep_ht",
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    -- Each rank has one expert: 32 columns of its gate and up, and 32 rows of its down projection, in bf16.
    s:expect { params_differ = 0, fill_calls = 2, fill_regions = 6, fill_bytes = 2 * 2 * (128 * 32 + 32 * 64) }
  end,
}
