-- One parameter in two modules becomes two meta tensors; the module that the checkpoint feeds writes the shared kernel storage, and the
-- other gets it back untouched. Object and storage stay tied, whoever reloads.
local function weight(tied) return { { name = "weight", shape = { 32, "H" }, dtype = "bf16", created = "empty", tied = tied } } end

return cs.scenario {
  name = "layerwise.tied",
  tags = { "small" },
  model = cs.model {
    name = "tied", layers = 1, experts = 1, hidden = 64, intermediate = 64,
    modules = { cs.module { name = "embed", tensors = weight() }, cs.module { name = "lm_head", tensors = weight "embed.weight" } },
  },
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, driver in ipairs { "layerwise", "direct", "load_plan", "raw", "kernel_format" } do
      s:reload { driver = driver, checkpoint = "B" }
      s:expect(cs.equal())
      s:reload { driver = driver, checkpoint = "A" }
      s:expect(cs.equal())
    end
  end,
}
