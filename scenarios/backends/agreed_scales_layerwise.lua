-- compressed-tensors FP8 with activation scales compares each with what its slot holds. A layerwise reload counts on the meta device, where
-- nothing can be compared.
local models = require "models.gpt_oss"

local function scenario(backend)
  return cs.scenario {
    name = "backends.agreed_scales_layerwise." .. backend,
    model = models.gpt_oss_20b { layers = 1, experts = 4, hidden = 256, intermediate = 256 },
    method = "fp8_tensor_ct", backend = backend, quantization = { static_input = true },
    policies = { "none", "record_and_fill" },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B" }
      s:expect(cs.refused "meta device")
    end,
  }
end

return { scenario "flashinfer_cutlass", scenario "flashinfer_trtllm" }
