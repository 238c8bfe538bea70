-- Loaders that write into what post-load left, and post-load after them: what some trainers do to a running server. With 2 · 96 rows
-- the row shuffle keeps blocks of 32, so weights come out right by luck; scales are bytes written as numbers into e4m3, and
-- biases stay f32 and come out right. Without padding records or with them: nothing here is padding's fault.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.raw_post_load",
  tags = { "small", "F24" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "none", "record_and_fill" },
  allocator = { fresh = "zero" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "raw_post_load", checkpoint = "B" }
    s:expect { params_differ = 4 }
  end,
}
