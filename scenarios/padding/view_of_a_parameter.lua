-- A loader that is given only an expert slice records on the parameter that owns the slice's storage (R2.7).
local toy = cs.toy {
  params = { { name = "w", shape = { 2, 3 }, dtype = "f32", created = "zeros", padding_value = 5 } },
  loads = {
    A = {
      { param = "w", at = { 0, 0 }, shape = { 1, 2 }, value = 1, marks = { { at = { 0, 2 }, shape = { 1, 1 } } }, through_view = true },
      { param = "w", at = { 1, 0 }, shape = { 1, 2 }, value = 2, marks = { { at = { 1, 2 }, shape = { 1, 1 } } }, through_view = true },
    },
  },
}

return cs.scenario {
  name = "padding.view_of_a_parameter",
  tags = { "toy", "R2.7" },
  model = toy,
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 0, fill_calls = 1, fill_regions = 2, values = { w = { 1, 1, 5, 2, 2, 5 } } }
    s:reload { driver = "layerwise", checkpoint = "A" }
    s:expect { params_differ = 0, fill_calls = 1, fill_regions = 2, values = { w = { 1, 1, 5, 2, 2, 5 } } }
  end,
}
