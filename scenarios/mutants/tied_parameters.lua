-- Two modules hold one parameter under two names; the checkpoint has it once. A reload must leave the tie as it is (R11).
local model = cs.model {
  name = "tied_embeddings", layers = 1, hidden = 8,
  modules = {
    cs.module { name = "embed_tokens", tensors = { { name = "weight", shape = { 16, "H" }, dtype = "f32", created = "empty" } } },
    cs.module { name = "lm_head", tensors = { { name = "weight", shape = { 16, "H" }, dtype = "f32", tied = "embed_tokens.weight" } } },
  },
}

return cs.scenario {
  name = "mutants.tied_parameters",
  tags = { "small", "R11" },
  kills = { "tie_broken" },
  model = model,
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, alias_differ = 0 }
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect { params_differ = 0, alias_differ = 0 }
  end,
}
