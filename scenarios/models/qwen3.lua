-- Qwen3 with experts: 30B-A3B and 235B-A22B.
--
--   local models = require "models.qwen3"
--   models.qwen3_30b_a3b()                                        -- 48 layers, 128 experts, 2048 × 768
--   models.qwen3_30b_a3b { layers = 2, experts = 4, hidden = 256, intermediate = 96 }
--   models.qwen3_30b_a3b { fp8 = true }                           -- Qwen3-30B-A3B-FP8, for method fp8_block: scales in bf16
local decoder = require "models.lib.decoder"

local function model(name, options, published)
  local size = cs.options(name, options, published)
  return cs.model {
    name = name, prefix = "model.",
    layers = size.layers, experts = size.experts, hidden = size.hidden, intermediate = size.intermediate,
    modules = decoder.modules {
      block = "mlp", router = { "gate", decoder.tensor("weight", { "Eg", "Hu" }) },
      stored = { experts = size.fp8 and { weight_scale_inv = "bf16" } or nil },
    },
    not_simulated = decoder.not_simulated({ "model.embed_tokens.*", "lm_head.*" }, {
      prefix = "model.", layers = size.layers, published = published.layers,
    }),
  }
end

local models = {}

function models.qwen3_30b_a3b(options)
  return model("qwen3_30b_a3b", options, { layers = 48, experts = 128, hidden = 2048, intermediate = 768, fp8 = false })
end

function models.qwen3_235b_a22b(options)
  return model("qwen3_235b_a22b", options, { layers = 94, experts = 128, hidden = 4096, intermediate = 1536, fp8 = false })
end

return models
