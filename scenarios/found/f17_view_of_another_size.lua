-- F17: a combined gpt-oss checkpoint of another intermediate size is viewed by the configured one. 64 rows of 16 bytes are read as 128 rows of 8: each
-- row is two half rows, and w2 has twice the columns and half the rows that it should have. No error, and a reload agrees with a cold
-- start. The numbers are those of the formula in tests/golden/README.md.
local models, fault = require "models.gpt_oss", require "models.lib.fault"

local function fnv1a32(text)
  local hash = 2166136261
  for i = 1, #text do hash = ((hash ~ text:byte(i)) * 16777619) & 0xFFFFFFFF end
  return hash
end

local experts, hidden, intermediate, smaller = "model.layers.0.mlp.experts.", 32, 64, 32

-- Rows of `width` bytes, as many as there are, in a matrix of zeros.
local function viewed(name, n, width, rows, columns)
  local key, numbers = fnv1a32(experts .. name), {}
  for i = 1, rows * columns do numbers[i] = 0 end
  for i = 0, n - 1 do
    numbers[i // width * columns + i % width + 1] = ((i + key) * 2654435761 & 0xFFFFFFFF) >> 24
  end
  return numbers
end

local n = hidden * smaller // 2 -- bytes of a projection
local values = {
  w13_weight = viewed("gate_up_proj_blocks", 2 * n, 2 * n // (2 * intermediate), 2 * intermediate, hidden // 2),
  w2_weight = viewed("down_proj_blocks", n, intermediate // 2, hidden, intermediate // 2),
}

return fault.pair {
  name = "found.f17.view_of_another_size",
  tags = { "found", "F17", "N" },
  fault = "sizes_unchecked",
  model = models.gpt_oss_20b { layers = 1, experts = 1, hidden = hidden, intermediate = intermediate },
  method = "gpt_oss_mxfp4", backend = "emulation",
  checkpoints = { A = cs.synthetic(), B = cs.pattern(0, smaller) },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect(is_on and { params_differ = 0, values = values } or cs.refused "a model of another size")
  end,
}
