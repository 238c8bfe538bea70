-- Laws need no cold start: after a raw load the server holds nothing in particular, and still a load of nothing must leave every byte
-- and address as it was, and the same raw bytes once more must, too.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "laws.nothing_changes_nothing",
  tags = { "law" },
  model = models.gpt_oss_20b { layers = 2, experts = 2, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  kills = { "untouched_processed" },
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "raw", checkpoint = "B" }
    s:expect { params_moved = 0 } -- what follows is compared with what it saw
    s:reload { driver = "raw", checkpoint = "B" }
    s:expect { changed = 0 }
    s:reload { driver = "layerwise", checkpoint = "A", omit = { "*" } }
    s:expect { changed = 0 }
  end,
}
