-- Finished tensors of another server, copied by name: parameters are equal, addresses stay, and so does what the quant config holds.
-- Buffers are not copied, and post-load does not run.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.kernel_format",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "kernel_format", checkpoint = "B" }
    s:expect(cs.equal())
    s:reload { driver = "kernel_format", checkpoint = "A", omit = { "*.w2_bias" } }
    -- One in each layer, of rank 0: on the other rank w2's bias is zeros in every checkpoint.
    s:expect { params_differ = 2, missing = 2, side_moved = 0, side_extra = 0 }
  end,
}
