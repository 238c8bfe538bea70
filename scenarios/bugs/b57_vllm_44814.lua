-- vllm#44814, prime-rl#2714 (L6): Mamba's A, D and dt_bias have 8 elements each. A comes in two pieces, and its loader copies each twice: the layer
-- counts 16 of 24 after A and 24 after dt_bias; D, the last, is never loaded: NaN, inf or 1e17.
local fault = require "models.lib.fault"
local function load(value)
  return {
    { param = "A", shape = 4, value = value }, { param = "A", at = 4, shape = 4, value = value },
    { param = "dt_bias", shape = 8, value = value }, { param = "D", shape = 8, value = value },
  }
end
local function tensor(name) return { name = name, shape = 8, dtype = "f32", created = "empty" } end

return fault.pair {
  name = "bugs.b57.counted_twice",
  tags = { "bugs", "toy", "L6" },
  fault = "counted_twice",
  model = cs.toy { params = { tensor "A", tensor "D", tensor "dt_bias" }, loads = { A = load(1), B = load(2) } },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = is_on and 1 or 0 }
  end,
}
