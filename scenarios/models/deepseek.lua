-- DeepSeek-V3, and Kimi-K2, which is built in the same way. Their checkpoints are FP8 in blocks of 128 × 128.
--
--   local models = require "models.deepseek"
--   models.deepseek_v3()                                          -- 61 layers, 3 of them dense, 256 experts, 7168 × 2048
--   models.kimi_k2 { layers = 2, experts = 4, hidden = 256, intermediate = 256 }
--
-- Shared experts and the multi-token prediction layer behind the last one are skipped.
local decoder = require "models.lib.decoder"

local function model(name, options, published, dense, mtp)
  local size = cs.options(name, options, published)
  return cs.model {
    name = name, prefix = "model.",
    layers = size.layers, experts = size.experts, hidden = size.hidden, intermediate = size.intermediate,
    modules = decoder.modules {
      block = "mlp", first_layer = dense,
      router = { "gate", decoder.tensor("weight", { "Eg", "Hu" }), decoder.tensor("e_score_correction_bias", "Eg", "f32") },
    },
    not_simulated = decoder.not_simulated({ "*.mlp.shared_experts.*", "model.embed_tokens.*", "lm_head.*" }, {
      prefix = "model.", block = "mlp", dense = dense, layers = size.layers, published = published.layers + mtp,
    }),
  }
end

local models = {}

function models.deepseek_v3(options)
  return model("deepseek_v3", options, { layers = 61, experts = 256, hidden = 7168, intermediate = 2048 }, 3, 1)
end

function models.kimi_k2(options)
  return model("kimi_k2", options, { layers = 61, experts = 384, hidden = 7168, intermediate = 2048 }, 1, 0)
end

return models
