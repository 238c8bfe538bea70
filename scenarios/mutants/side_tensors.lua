-- What the experts object owns is made anew by each post-load: it must be there, hold what it held, and graphs must be told that it
-- moved (S1).
return cs.scenario {
  name = "mutants.side_tensors",
  tags = { "toy", "S1" },
  kills = { "constant_not_remade", "constant_not_written" },
  model = cs.toy {
    params = { { name = "p", shape = 4, dtype = "f32", created = "zeros" } },
    loads = { A = { { param = "p", shape = 4, value = 1 } }, B = { { param = "p", shape = 4, value = 2 } } },
    post_load = { cs.constant("experts.alpha", 1.702) },
  },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { params_differ = 0, side_missing = 0, side_differ = 0 }
  end,
}
