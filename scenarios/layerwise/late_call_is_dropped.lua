-- Completion is a count, not a set: the first call fills the count, the module is processed, and the second call for the same
-- parameter is dropped. The dropped tensor is in excess: no loader consumed it. A cold start takes both, the last one wins.
return cs.scenario {
  name = "layerwise.late_call_is_dropped",
  tags = { "toy", "R6", "R8.1" },
  model = cs.toy {
    params = { { name = "p", shape = 2, dtype = "u8", created = "zeros" } },
    loads = { A = { { param = "p", at = 0, shape = 2, value = 1 }, { param = "p", at = 0, shape = 2, value = 2 } } },
  },
  run = function(s)
    s:cold_start "A"
    s:expect { excess = 0, values = { p = { 2, 2 } } }
    s:reload { driver = "layerwise", checkpoint = "A" }
    s:expect { params_differ = 1, excess = 1, values = { p = { 1, 1 } } }
  end,
}
