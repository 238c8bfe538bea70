-- Padding is filled once, right before post-load, in the layout that loaders know (R2.4). A module that was processed while
-- loading, as online quantisation does, is not filled again at the end: that would write old coordinates into new layout.
local toy = cs.toy {
  params = { { name = "p", shape = 4, dtype = "f32", created = "zeros", padding_value = 9 } },
  loads = {
    A = { { param = "p", at = 0, shape = 3, values = { 1, 2, 3 }, marks = { { at = 3, shape = 1 } } } },
    B = { { param = "p", at = 0, shape = 3, values = { 4, 5, 6 }, marks = { { at = 3, shape = 1 } } } },
  },
  post_load = { cs.relayout("p", "swap_halves"), cs.replace "p" },
  post_load_while_loading = true,
}

return cs.scenario {
  name = "padding.filled_once_before_post_load",
  tags = { "toy", "R2.4" },
  model = toy,
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 0, fill_calls = 1, fill_regions = 1, values = { p = { 3, 9, 1, 2 } } }
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { params_differ = 0, fill_calls = 1, fill_regions = 1, values = { p = { 6, 9, 4, 5 } } }
    s:reload { driver = "layerwise", checkpoint = "A" }
    s:expect { params_differ = 0, fill_calls = 1, fill_regions = 1, values = { p = { 3, 9, 1, 2 } } }
  end,
}
