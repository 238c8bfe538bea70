-- Level 1 keeps every byte; level 2 keeps the named buffers, and a reload must bring the rest. The experts object's constants are
-- rebuilt by post-load, so nothing is stale.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.sleep",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:sleep(1)
    s:wake()
    s:expect(cs.equal())
    s:sleep(2)
    s:wake()
    s:expect { params_differ = 21, side_differ = 6 } -- every parameter, and the constants
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { params_differ = 0, side_differ = 0, side_moved = 6 }
  end,
}
