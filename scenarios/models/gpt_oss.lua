-- gpt-oss as published: 20b and 120b, with every size open to be made small.
--
--   local models = require "models.gpt_oss"
--   models.gpt_oss_20b()                                                        -- 24 layers, 32 experts, 2880 × 2880
--   models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 }
--
-- Experts, routers and norms are simulated: what a quantization method or a padded loader touches, and what stands
-- beside it. Norms and routers are not rounded (Hu); all tensors are bf16 but the experts', which the method makes.
local decoder = require "models.lib.decoder"

local function weight(shape, created) return { name = "weight", shape = shape, dtype = "bf16", created = created } end

local norms = { "layers.{layer}.input_layernorm", "layers.{layer}.post_attention_layernorm", "norm" }

local function modules()
  local list = {}
  for i, name in ipairs(norms) do
    list[i] = cs.module { name = name, tensors = { weight("Hu", "ones") } }
  end
  list[#list + 1] = cs.module {
    name = "layers.{layer}.mlp.router",
    tensors = { weight({ "Eg", "Hu" }, "empty"), { name = "bias", shape = "Eg", dtype = "bf16", created = "empty" } },
  }
  list[#list + 1] = cs.module {
    name = "layers.{layer}.mlp.experts.routed_experts",
    routed_experts = true,
    checkpoint = "layers.{layer}.mlp.experts",
  }
  return list
end

local function model(name, options, published)
  local size = cs.options(name, options, published)
  return cs.model {
    name = name, prefix = "model.",
    layers = size.layers, experts = size.experts, hidden = size.hidden, intermediate = size.intermediate,
    modules = modules(),
    not_simulated = decoder.not_simulated({ "model.embed_tokens.*", "lm_head.*" }, {
      prefix = "model.", layers = size.layers, published = published.layers,
    }),
  }
end

local models = {}

function models.gpt_oss_20b(options)
  return model("gpt_oss_20b", options, { layers = 24, experts = 32, hidden = 2880, intermediate = 2880 })
end

function models.gpt_oss_120b(options)
  return model("gpt_oss_120b", options, { layers = 36, experts = 128, hidden = 2880, intermediate = 2880 })
end

return models
