-- A fill drops every parameter that its load did not mark (R2.3): load B marks only q, so p's record of load A is gone, and
-- load C, which writes all of p and marks nothing, is not overwritten.
local toy = cs.toy {
  params = { { name = "p", shape = 4, dtype = "f32", created = "zeros" }, { name = "q", shape = 4, dtype = "f32", created = "zeros" } },
  loads = {
    A = { { param = "p", at = 0, shape = 2, value = 1, marks = { { at = 2, shape = 2 } } }, { param = "q", at = 0, shape = 4, value = 1 } },
    B = { { param = "p", at = 0, shape = 4, value = 2 }, { param = "q", at = 0, shape = 3, value = 2, marks = { { at = 3, shape = 1 } } } },
    C = { { param = "p", at = 0, shape = 4, value = 3 }, { param = "q", at = 0, shape = 4, value = 3 } },
  },
}

return cs.scenario {
  name = "padding.unmarked_parameter_is_dropped",
  tags = { "toy", "R2.3" },
  model = toy,
  run = function(s)
    s:cold_start "A"
    s:expect { fill_regions = 1, values = { p = { 1, 1, 0, 0 }, q = { 1, 1, 1, 1 } } }
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { fill_regions = 1, values = { p = { 2, 2, 2, 2 }, q = { 2, 2, 2, 0 } } }
    s:reload { driver = "direct", checkpoint = "C" }
    s:expect { fill_regions = 0, fill_calls = 0, values = { p = { 3, 3, 3, 3 }, q = { 3, 3, 3, 3 } } }
    s:expect(cs.equal())
  end,
}
