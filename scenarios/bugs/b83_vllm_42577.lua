-- vllm#42577, trl#6028, verl#6256, slime#1673 (N): the trainer's names are not the model's (fused experts, a prefix, LoRA, a converter): a tensor is
-- consumed by nobody, and nobody says so. The accounting does.
local models, fault = require "models.gpt_oss", require "models.lib.fault"

return fault.pair {
  name = "bugs.b83.names",
  tags = { "bugs", "N" },
  fault = "name_not_mapped",
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
  method = "gpt_oss_mxfp4", backend = "emulation",
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 1 or 0, excess = is_on and 1 or 0 }
  end,
}
