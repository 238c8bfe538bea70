-- Reference pull request (P2, S1): a direct reload finds the previous update's kernel bytes in the padding. TP2, two reloads: bias and
-- scale of w13 and w2 are wrong on each rank (but for rank 1's w2 bias: it adds none, and stale zeros are right), and 3 gate constants of each moved.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "bugs.b04.direct_tp2",
  tags = { "bugs", "P2", "S1" },
  model = models.gpt_oss_20b { layers = 1, experts = 4, hidden = 224, intermediate = 192 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "direct", checkpoint = "B" }
    s:reload { driver = "direct", checkpoint = "C" }
    s:expect { none = { params_differ = 7, side_moved = 6 }, record_and_fill = { params_differ = 0, side_moved = 6 } }
  end,
}
