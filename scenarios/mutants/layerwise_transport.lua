-- Buffered calls hold their sources by reference until the layer is complete: a bucket must not overwrite the one before (L11). And a
-- module that receives nothing keeps what it has, without being processed (R4).
local models = require "models.gpt_oss"
local model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 64 }

return {
  cs.scenario {
    name = "mutants.layerwise_transport.buckets",
    tags = { "small", "L11" },
    kills = { "buckets_share_memory" },
    model = model, method = "gpt_oss_mxfp4", backend = "emulation",
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B", bucket = 1 }
      s:expect { params_differ = 0 }
    end,
  },
  cs.scenario {
    name = "mutants.layerwise_transport.untouched",
    tags = { "small", "R4" },
    kills = { "untouched_processed" },
    model = model, method = "gpt_oss_mxfp4", backend = "emulation",
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "A", only = { "*.experts.*" } }
      s:expect { params_differ = 0 }
    end,
  },
}
