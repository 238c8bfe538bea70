-- vllm#39663 (L9): online FP8 drops the bias of Qwen2's linears. The layer counts what it must wait for before the bias is registered, and is processed
-- when its weight is there; the bias that comes next belongs to a layer that is done.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b29.late_bias",
  tags = { "bugs", "L9" },
  fault = "late_not_counted",
  model = cs.model {
    name = "qwen2_linear", layers = 2, hidden = 64,
    modules = {
      cs.module {
        name = "layers.{layer}.qkv_proj",
        tensors = {
          { name = "weight", shape = { 96, "H" }, dtype = "bf16" },
          { name = "qkv_bias", shape = 96, dtype = "bf16", late = true },
        },
      },
    },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 2 or 0 } -- the bias of each layer
  end,
}
