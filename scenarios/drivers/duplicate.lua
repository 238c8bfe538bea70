-- A count, not a set (F4). One tensor twice fills an unpadded layer's count one tensor early; gpt-oss looked its parameters up before,
-- so what comes then is lost: w2's bias, 224 elements, stays as memory was. Padded layers wait for the end and do not care.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.duplicate",
  tags = { "small", "F4" },
  model = models.gpt_oss_20b { layers = 1, experts = 4, hidden = 256, intermediate = 128 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B", duplicate = { "*.down_proj_scales" } }
    s:expect { params_differ = 1, duplicate = 1, excess = 1 }
    s:reload { driver = "layerwise", checkpoint = "B", duplicate = { "*.down_proj_bias" } } -- the last one: none is left to lose
    s:expect { params_differ = 0, duplicate = 1, excess = 1 }
    s:reload { driver = "direct", checkpoint = "A", duplicate = { "*" } }
    s:expect { params_differ = 0, duplicate = 11, excess = 0 }
  end,
}
