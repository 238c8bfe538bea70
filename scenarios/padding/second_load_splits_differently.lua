-- Load 1 writes 4 of 8 elements and records the rest; load 2 writes 6 sevens and records 2. Nothing of load 1's record may
-- remain: it covers two real elements of load 2 (R2.6, R2.3, R1.3).
local toy = cs.toy {
  params = { { name = "p", shape = 8, dtype = "f32", created = "zeros" } },
  loads = {
    A = { { param = "p", at = 0, shape = 4, value = 1, marks = { { at = 4, shape = 4 } } } },
    B = { { param = "p", at = 0, shape = 6, value = 7, marks = { { at = 6, shape = 2 } } } },
  },
}

return cs.scenario {
  name = "padding.second_load_splits_differently",
  note = "the toy of R2.6, by both drivers",
  tags = { "toy", "R2.3", "R2.6", "R1.3" },
  model = toy,
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 0, fill_regions = 1, fill_bytes = 16, values = { p = { 1, 1, 1, 1, 0, 0, 0, 0 } } }
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, fill_regions = 1, fill_bytes = 8, values = { p = { 7, 7, 7, 7, 7, 7, 0, 0 } } }
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect { params_differ = 0, fill_regions = 1, fill_bytes = 16, values = { p = { 1, 1, 1, 1, 0, 0, 0, 0 } } }
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { params_differ = 0, fill_regions = 1, fill_bytes = 8, values = { p = { 7, 7, 7, 7, 7, 7, 0, 0 } } }
  end,
}
