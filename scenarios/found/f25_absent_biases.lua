-- F25: GPTQ biases are always created and counted. Layers whose checkpoint has none are never complete, and wait for the end of the reload
-- with all of their tensors.
local models = require "models.qwen3"

-- Of one expert's three matrices: 64 × 64 values of 4 bits, one group of 64 scales in bf16, zero points of 4 bits.
local layer = 2 * 3 * (64 * 64 // 2 + 64 * 2 + 64 // 2)
local norm = 64 * 2

local function scenario(fault)
  return cs.scenario {
    name = "found.f25.absent_biases." .. (fault and "on" or "off"),
    tags = { "found", "F25", "P11" },
    fixes = fault and {} or { "absent_biases_count" }, kills = fault and {} or { "absent_biases_count" },
    model = models.qwen3_30b_a3b { layers = 2, experts = 2, hidden = 64, intermediate = 64 },
    method = "gptq", backend = cs.backend { name = "as_loaded", steps = {} }, quantization = { group = 64 },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B" }
      -- the last norm comes while both layers still wait; the four biases, which nobody loads, are garbage in any case
      s:expect { params_differ = 4, buffered_bytes = fault and 2 * layer + norm or layer }
    end,
  }
end

return { scenario(true), scenario(false) }
