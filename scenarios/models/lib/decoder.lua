-- What the models beside this folder share.
--
-- Experts, routers and norms are simulated: what a quantization method or a padded loader touches, and what stands
-- beside it. Norms and routers are not rounded (Hu). Everything else of a published checkpoint is skipped by name.

local decoder = {}

-- A tensor of a module that no method quantises.
function decoder.tensor(name, shape, dtype) return { name = name, shape = shape, dtype = dtype or "bf16" } end

local function norm(name)
  return cs.module { name = name, tensors = { { name = "weight", shape = "Hu", dtype = "bf16", created = "ones" } } }
end

-- The modules of a model, in the order in which engines build them. `moe`:
--   block        "mlp": what decoder layers call their experts' block
--   router       { name, tensor, … }
--   stored       dtypes in checkpoints that are not those that engines keep: { router = {…}, experts = {…} }
--   names        the checkpoint's words for gate_proj, up_proj and down_proj, where they are others
--   first_layer  layers before it are dense
function decoder.modules(moe)
  local block, first = "layers.{layer}." .. moe.block, moe.first_layer or 0
  local router, stored = { table.unpack(moe.router, 2) }, moe.stored or {}
  return {
    norm "layers.{layer}.input_layernorm", norm "layers.{layer}.post_attention_layernorm", norm "norm",
    cs.module { name = block .. "." .. moe.router[1], tensors = router, first_layer = first, dtypes = stored.router },
    cs.module {
      name = block .. ".experts.routed_experts", checkpoint = block .. ".experts",
      routed_experts = true, names = moe.names, first_layer = first, dtypes = stored.experts,
    },
  }
end

-- Patterns of what is skipped: those given, the dense blocks, and every layer from `layers` to before `published`, so that
-- a model with fewer layers takes the first ones of a published checkpoint.
function decoder.not_simulated(patterns, size)
  local list = { "*.self_attn.*", table.unpack(patterns) }
  for layer = 0, (size.dense or 0) - 1 do
    list[#list + 1] = ("%slayers.%d.%s.*"):format(size.prefix, layer, size.block)
  end
  for layer = size.layers, size.published - 1 do
    list[#list + 1] = ("%slayers.%d.*"):format(size.prefix, layer)
  end
  return list
end

return decoder
