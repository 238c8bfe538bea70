-- F14: gpt-oss BF16 with a back end that rounds sizes cannot be loaded at all: its combined loader copies whole tensors.
local models = require "models.gpt_oss"

local function scenario(fault)
  return cs.scenario {
    name = "found.f14.combined_bf16." .. (fault and "on" or "off"),
    tags = { "found", "F14", "P9" },
    fixes = fault and {} or { "combined_takes_no_padding" }, kills = fault and {} or { "combined_takes_no_padding" },
    model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 96 },
    method = "unquantized", backend = "flashinfer_trtllm", loader = "gpt_oss_bf16_combined",
    run = function(s)
      s:cold_start "A"
      s:expect(fault and cs.refused("is padded") or cs.equal())
    end,
  }
end

return { scenario(true), scenario(false) }
