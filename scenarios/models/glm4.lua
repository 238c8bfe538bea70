-- GLM-4.5 and GLM-4.5-Air.
--
--   local models = require "models.glm4"
--   models.glm_4_5()                                              -- 92 layers, 3 of them dense, 160 experts, 5120 × 1536
--   models.glm_4_5_air { layers = 2, experts = 4, hidden = 256, intermediate = 96 }
--
-- Shared experts and the multi-token prediction layer behind the last one are skipped.
local decoder = require "models.lib.decoder"

local function model(name, options, published, dense)
  local size = cs.options(name, options, published)
  return cs.model {
    name = name, prefix = "model.",
    layers = size.layers, experts = size.experts, hidden = size.hidden, intermediate = size.intermediate,
    modules = decoder.modules {
      block = "mlp", first_layer = dense,
      router = { "gate", decoder.tensor("weight", { "Eg", "Hu" }, "f32"), decoder.tensor("e_score_correction_bias", "Eg", "f32") },
      stored = { router = { weight = "bf16" } },
    },
    not_simulated = decoder.not_simulated({ "*.mlp.shared_experts.*", "model.embed_tokens.*", "lm_head.*" }, {
      prefix = "model.", block = "mlp", dense = dense, layers = size.layers, published = published.layers + 1,
    }),
  }
end

local models = {}

function models.glm_4_5(options)
  return model("glm_4_5", options, { layers = 92, experts = 160, hidden = 5120, intermediate = 1536 }, 3)
end

function models.glm_4_5_air(options)
  return model("glm_4_5_air", options, { layers = 46, experts = 128, hidden = 4096, intermediate = 1408 }, 1)
end

return models
