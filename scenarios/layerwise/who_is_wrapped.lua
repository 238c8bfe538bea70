-- A layerwise reload wraps the loaders of a module's own tensors. What the module does not register, and the names that it
-- skips (expert_mask), keep their loader: it writes the live tensor at once, and does not count. Load B sends them first;
-- were they counted, the module would be processed before p arrives.
return cs.scenario {
  name = "layerwise.who_is_wrapped",
  tags = { "toy", "R6" },
  model = cs.toy {
    params = {
      { name = "p", shape = 2, dtype = "u8", created = "zeros" },
      { name = "expert_mask", shape = 2, dtype = "u8", created = "zeros" },
      { name = "loose", shape = 4, dtype = "u8", created = "zeros", registered = false },
    },
    loads = {
      A = { { param = "loose", at = 0, shape = 4, value = 1 }, { param = "expert_mask", at = 0, shape = 2, value = 1 }, { param = "p", at = 0, shape = 2, value = 1 } },
      B = { { param = "loose", at = 0, shape = 4, value = 9 }, { param = "expert_mask", at = 0, shape = 2, value = 7 }, { param = "p", at = 0, shape = 2, value = 2 } },
    },
  },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, excess = 0, values = { p = { 2, 2 }, expert_mask = { 7, 7 }, loose = { 9, 9, 9, 9 } } }
    s:expect(cs.equal())
  end,
}
