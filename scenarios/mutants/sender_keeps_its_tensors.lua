-- What a loader does to an incoming tensor must not show in the sender's memory: buckets are read by every rank, and by whoever
-- sends them again (found: F18).
local models = require "models.gpt_oss"

return cs.scenario {
  name = "mutants.sender_keeps_its_tensors",
  tags = { "small", "L11" },
  kills = { "source_zeroed" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 128 },
  method = "gpt_oss_mxfp4", backend = "emulation", tp = 2,
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B", bucket = 4 }
    s:expect { source_differ = 0 }
  end,
}
