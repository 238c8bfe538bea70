-- An explicit padding_value = 1 restores what integers created as ones held at a cold start (R4.9 b).
return cs.scenario {
  name = "padding.cold_start_explicit_value",
  tags = { "toy", "R4.9" },
  model = cs.toy {
    params = { { name = "scale", shape = 2, dtype = "u8", created = "ones", padding_value = 1 } },
    loads = { A = { { param = "scale", at = 0, shape = 1, value = 127, marks = { { at = 1, shape = 1 } } } } },
  },
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 0, against = { policy = "none" }, values = { scale = { 127, 1 } } }
    s:expect(cs.equal())
  end,
}
