-- Post-load after each bucket meets experts that were processed before: with every tensor in one bucket all is as after one
-- post-load (weights right by luck of whole 32-row blocks); with a bucket for each tensor, what came first is shuffled again and again.
local models = require "models.gpt_oss"
local options = cs.declare { bucket = { 1, "tensors in a bucket" } }

return cs.scenario {
  name = "drivers.raw_post_load_per_bucket",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 256, intermediate = 128 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "none" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "raw_post_load_per_bucket", checkpoint = "B", bucket = options.bucket }
    s:expect { params_differ = 6 }
  end,
}
