-- Mixtral 8x7B, whose checkpoints call gate, down and up projections w1, w2 and w3.
--
--   local models = require "models.mixtral"
--   models.mixtral_8x7b()                                         -- 32 layers, 8 experts, 4096 × 14336
--   models.mixtral_8x7b { layers = 1, experts = 2, hidden = 256, intermediate = 96 }
local decoder = require "models.lib.decoder"

local models = {}

function models.mixtral_8x7b(options)
  local published = { layers = 32, experts = 8, hidden = 4096, intermediate = 14336 }
  local size = cs.options("mixtral_8x7b", options, published)
  return cs.model {
    name = "mixtral_8x7b", prefix = "model.",
    layers = size.layers, experts = size.experts, hidden = size.hidden, intermediate = size.intermediate,
    modules = decoder.modules {
      block = "block_sparse_moe", router = { "gate", decoder.tensor("weight", { "Eg", "Hu" }) },
      names = { gate_proj = "w1", down_proj = "w2", up_proj = "w3" },
    },
    not_simulated = decoder.not_simulated({ "model.embed_tokens.*", "lm_head.*" }, {
      prefix = "model.", layers = size.layers, published = published.layers,
    }),
  }
end

return models
