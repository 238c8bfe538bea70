-- Nothing is recorded for plain tensors (R2.5), nor for a parameter that its module does not register: that one warns, once.
local toy = cs.toy {
  params = {
    { name = "p", shape = 4, dtype = "f32", created = "zeros" },
    { name = "loose", shape = 4, dtype = "f32", created = "zeros", registered = false },
  },
  loads = {
    A = {
      { param = "p", at = 0, shape = 4, value = 1, marks = { { at = 2, shape = 2 } }, on_plain = true },
      { param = "loose", at = 0, shape = 2, value = 1, marks = { { at = 2, shape = 2 } } },
      { param = "loose", at = 0, shape = 2, value = 2, marks = { { at = 2, shape = 2 } } },
    },
  },
}

return cs.scenario {
  name = "padding.who_is_not_recorded",
  tags = { "toy", "R2.5" },
  model = toy,
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 0, fill_calls = 0, fill_regions = 0, warnings = 1, values = { p = { 1, 1, 1, 1 } } }
  end,
}
