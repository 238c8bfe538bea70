-- A parameter created empty has padding that only the fill defines: without it, or with what memory holds as its value, two cold
-- starts differ, and there is nothing to be equal to (R2.2, P4).
return cs.scenario {
  name = "mutants.cold_start_is_determined",
  tags = { "toy", "R2.2" },
  kills = { "no_fill", "value_of_memory" },
  model = cs.toy {
    params = { { name = "p", shape = 4, dtype = "f32", created = "empty" } },
    loads = { A = { { param = "p", shape = 3, value = 1, marks = { { at = 3, shape = 1 } } } } },
  },
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 0 }
  end,
}
