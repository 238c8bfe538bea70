-- Padding that may differ is declared, with a reason; when it never differs, because a loader fills it, the declaration is out of
-- date and the verdict says so (R7). 5 blocks of 128 over 4 ranks: rank 2 has half of its rows, rank 3 none.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "mutants.excused_padding",
  tags = { "R7" },
  kills = { "block_loader_fills" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 128, intermediate = 640 },
  method = "fp8_block", backend = "flashinfer_trtllm", tp = 4,
  policies = { "none" },
  differs = { { tensor = "*.routed_experts.*", reason = "blocks that no rank has rows for: never routed to" } },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0 }
  end,
}
