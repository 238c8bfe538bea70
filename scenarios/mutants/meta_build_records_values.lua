-- A model built on the meta device records 0 for everything, so that its reload fills scale padding with 0 where its cold start had 1
-- (R2.2, known limitation). With the limitation lifted the two agree.
return cs.scenario {
  name = "mutants.meta_build_records_values",
  tags = { "toy", "R2.2" },
  fixes = { "meta_records_zero" },
  kills = { "meta_records_zero", "value_always_zero" },
  model = cs.toy {
    params = { { name = "scale", shape = 4, dtype = "f32", created = "ones" } },
    loads = {
      A = { { param = "scale", shape = 3, value = 2, marks = { { at = 3, shape = 1 } } } },
      B = { { param = "scale", shape = 3, value = 5, marks = { { at = 3, shape = 1 } } } },
    },
  },
  run = function(s)
    s:cold_start { driver = "meta_build", checkpoint = "A" }
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, values = { scale = { 5, 5, 5, 1 } } }
  end,
}
