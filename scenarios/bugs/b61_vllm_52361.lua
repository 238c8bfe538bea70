-- vllm#52361, nemo-rl#3545, verl#7987 (L11): two buckets share one buffer, and a layer spans both: deferred calls of the first read the
-- second's bytes.
local models, fault = require "models.gpt_oss", require "models.lib.fault"

return fault.pair {
  name = "bugs.b61.reused_buffer",
  tags = { "bugs", "L11" },
  fault = "buckets_share_memory",
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
  method = "gpt_oss_mxfp4", backend = "emulation",
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B", bucket = 3, only = { "*.gate_up_proj_*", "*.down_proj_*" } }
    -- the second bucket is smaller, and reaches into w13's weight alone; five other tensors were not sent
    s:expect { params_differ = is_on and 6 or 5, missing = 5 }
  end,
}
