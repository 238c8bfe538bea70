-- A server that starts with random numbers: its first real load is a reload already. Numbers stand in the padding too, since no loader
-- recorded any; biases are bf16 and get numbers, u8 weights and scales stay as created.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.dummy_start",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start { driver = "dummy_start" }
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect { none = { params_differ = 4 }, record_and_fill = { params_differ = 0, side_moved = 6 } }
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { none = { params_differ = 12 }, record_and_fill = { params_differ = 0, side_extra = 8 } }
  end,
}
