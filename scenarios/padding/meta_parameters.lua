-- Parameters created on meta get memory when their first tensor arrives. What the dry run of a layerwise reload narrows on meta is not
-- recorded (R2.5); the replay's is: one region, and the padding of a tensor created on meta is 0.
local toy = cs.toy {
  params = { { name = "p", shape = 4, dtype = "f32", created = "meta" } },
  loads = {
    A = { { param = "p", at = 0, shape = 3, value = 1, marks = { { at = 3, shape = 1 } } } },
    B = { { param = "p", at = 0, shape = 2, value = 2, marks = { { at = 2, shape = 2 } } } },
  },
}

return cs.scenario {
  name = "padding.meta_parameters",
  tags = { "toy", "R2.2", "R2.5" },
  model = toy,
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 0, fill_regions = 1, values = { p = { 1, 1, 1, 0 } } }
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, fill_regions = 1, fill_bytes = 8, values = { p = { 2, 2, 0, 0 } } }
  end,
}
