-- Llama-4 Scout. All experts of a layer are in one tensor [experts, K, N]: loader = "llama4".
--
--   local models = require "models.llama4"
--   models.llama_4_scout()                                        -- 48 layers, 16 experts, 5120 × 8192
--   models.llama_4_scout { layers = 1, experts = 2, hidden = 256, intermediate = 96 }
--
-- The shared expert and everything that sees pictures are skipped.
local decoder = require "models.lib.decoder"

local models = {}

function models.llama_4_scout(options)
  local published = { layers = 48, experts = 16, hidden = 5120, intermediate = 8192 }
  local size = cs.options("llama_4_scout", options, published)
  local prefix = "language_model.model."
  return cs.model {
    name = "llama_4_scout", prefix = prefix,
    layers = size.layers, experts = size.experts, hidden = size.hidden, intermediate = size.intermediate,
    modules = decoder.modules {
      block = "feed_forward", router = { "router", decoder.tensor("weight", { "Eg", "Hu" }) },
    },
    not_simulated = decoder.not_simulated({
      "*.feed_forward.shared_expert.*", "*.embed_tokens.*", "language_model.lm_head.*",
      "vision_model.*", "multi_modal_projector.*",
    }, { prefix = prefix, layers = size.layers, published = published.layers }),
  }
end

return models
