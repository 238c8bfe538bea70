-- vllm#39663 (L9): online FP8 of Qwen2's linears drops the bias that comes after the weight.
local fault = require "models.lib.fault"
local function load(value) return { { param = "weight", shape = 8, value = value }, { param = "linear_bias", shape = 2, value = value } } end

return fault.pair {
  name = "bugs.b29.late_bias",
  tags = { "bugs", "toy", "L9" },
  fault = "last_call_dropped",
  model = cs.toy {
    params = { { name = "weight", shape = 8, dtype = "f32", created = "empty" }, { name = "linear_bias", shape = 2, dtype = "f32", created = "empty" } },
    loads = { A = load(1), B = load(2) },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 1 or 0 }
  end,
}
