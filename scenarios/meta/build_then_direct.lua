-- Weights that arrive already processed have no checkpoint layout to load into: direct reload refuses them (R6).
return cs.scenario {
  name = "meta.build_then_direct",
  tags = { "toy", "R6" },
  model = cs.toy {
    params = { { name = "p", shape = 4, dtype = "f32", created = "ones" } },
    loads = { A = { { param = "p", at = 0, shape = 2, value = 2, marks = { { at = 2, shape = 2 } } } } },
  },
  run = function(s)
    s:cold_start { checkpoint = "A", driver = "meta_build" }
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect(cs.refused "arrived already processed")
  end,
}
