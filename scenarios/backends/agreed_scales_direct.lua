-- The same in place: a slot holds the scale of the last update, and a changed one does not agree with it.
local models = require "models.gpt_oss"

local function scenario(backend)
  return cs.scenario {
    name = "backends.agreed_scales_direct." .. backend,
    model = models.gpt_oss_20b { layers = 1, experts = 4, hidden = 256, intermediate = 256 },
    method = "fp8_tensor_ct", backend = backend, quantization = { static_input = true },
    policies = { "none", "record_and_fill" },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "direct", checkpoint = "B" }
      s:expect(cs.refused "must have one scale")
    end,
  }
end

return { scenario "flashinfer_cutlass", scenario "flashinfer_trtllm" }
