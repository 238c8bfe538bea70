-- vllm#57795, #57806, ascend#16958 (L10): bare copies bypass the wrapped loader. After a dummy start and a live update these tensors hold
-- dummy values while every other one is right, and success is reported.
local models, fault = require "models.gpt_oss", require "models.lib.fault"

return fault.pair {
  name = "bugs.b60.bare_copies",
  tags = { "bugs", "L10" },
  standing = "bare_copies_lost",
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
  method = "unquantized", backend = "triton", loader = "gpt_oss_bf16_combined",
  run = function(s, is_on)
    s:cold_start { driver = "dummy_start" }
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 2 or 0 }
  end,
}
