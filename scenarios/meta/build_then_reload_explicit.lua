-- The same with an explicit padding value: equal (R4.11).
return cs.scenario {
  name = "meta.build_then_reload_explicit",
  tags = { "toy", "R4.11" },
  model = cs.toy {
    params = { { name = "scale", shape = 4, dtype = "f32", created = "ones", padding_value = 1 } },
    loads = { A = { { param = "scale", at = 0, shape = 3, value = 2, marks = { { at = 3, shape = 1 } } } } },
  },
  run = function(s)
    s:cold_start { checkpoint = "A", driver = "meta_build" }
    s:reload { driver = "layerwise", checkpoint = "A" }
    s:expect { params_differ = 0, values = { scale = { 2, 2, 2, 1 } } }
    s:expect(cs.equal())
  end,
}
