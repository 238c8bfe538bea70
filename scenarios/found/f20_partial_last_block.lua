-- F20: FP8 block scales with a partial last block under a refined grid cannot be loaded: 192 columns are one and a half blocks of 128, two scales,
-- which become four of 64 where three fit. With whole blocks they load.
local models = require "models.qwen3"

local function scenario(hidden)
  local is_partial = hidden % 128 ~= 0
  return cs.scenario {
    name = "found.f20.partial_last_block." .. (is_partial and "on" or "off"),
    tags = { "found", "F20", "P9" },
    model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = hidden, intermediate = 384 },
    method = "fp8_block", backend = "triton", tp = 2,
    run = function(s)
      s:cold_start "A"
      if not is_partial then s:reload { driver = "layerwise", checkpoint = "B" } end
      s:expect(is_partial and cs.refused("does not fit the [3, 3]") or { params_differ = 0 })
    end,
  }
end

return { scenario(192), scenario(256) }
