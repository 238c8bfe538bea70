-- gpt-oss in BF16, one tensor for all experts: a plain copy that no weight loader sees. A layerwise reload counts nothing, believes that nothing
-- came, and keeps the old experts without a word: w13 and w2 of each rank. In place there is nothing to count.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "unquantized.combined_is_never_counted",
  model = models.gpt_oss_20b { layers = 1, experts = 4, hidden = 64, intermediate = 96 },
  method = "unquantized", backend = "triton", tp = 2, loader = "gpt_oss_bf16_combined",
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 4 }
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { params_differ = 0 }
  end,
}
