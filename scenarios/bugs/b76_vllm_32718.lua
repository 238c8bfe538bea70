-- vllm#32718 (X): the files on disk are overwritten; a reload takes the path that it has cached, and the old weights.
local models, fault = require "models.gpt_oss", require "models.lib.fault"

return fault.pair {
  name = "bugs.b76.cached_path",
  tags = { "bugs", "X" },
  fault = "cached_checkpoint",
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
  method = "gpt_oss_mxfp4", backend = "emulation",
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 11 or 0 }
  end,
}
