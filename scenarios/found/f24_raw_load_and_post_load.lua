-- F24: load_weights on a running TRT-LLM MXFP4 server, then post-load: weights are right by luck of their 32-row blocks, scales are
-- wrong everywhere, since e8m0 bytes are written as numbers into e4m3 storage. Silent. With the checkpoint's layout over the live bytes,
-- and results back in their places, it is a direct reload.
local models, fault = require "models.gpt_oss", require "models.lib.fault"

return fault.pair {
  name = "found.f24.raw_load",
  tags = { "found", "F24", "L1", "L4" },
  standing = "raw_into_kernel_layout",
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 256, intermediate = 128 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "raw_post_load", checkpoint = "B" }
    s:expect { params_differ = is_on and 2 or 0 } -- w13_weight_scale and w2_weight_scale
  end,
}
