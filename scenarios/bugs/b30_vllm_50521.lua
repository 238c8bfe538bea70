-- vllm#50521 (S1): captured graphs read the abandoned constants of an experts object that each reload builds anew: 3 of each of 24 layers.
-- GSM8K 0.33 → 0.00. Kept in place, all are where they were.
local models, fault = require "models.gpt_oss", require "models.lib.fault"

return fault.pair {
  name = "bugs.b30.gate_constants",
  tags = { "bugs", "S1" },
  standing = "side_tensors_rebuilt",
  model = models.gpt_oss_20b { layers = 2, experts = 2, hidden = 64, intermediate = 64 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "A" }
    s:expect { params_differ = 0, side_moved = is_on and 6 or 0 }
  end,
}
