-- A copy that post-load writes into, where it was: equal. Whoever runs no post-load leaves it behind.
local function toy(step)
  return cs.toy {
    params = { { name = "p", shape = 4, dtype = "f32", created = "zeros" } },
    loads = {
      A = { { param = "p", at = 0, shape = 4, values = { 1, 2, 3, 4 } } },
      B = { { param = "p", at = 0, shape = 4, values = { 5, 6, 7, 8 } } },
    },
    post_load = { step },
  }
end

return cs.scenario {
  name = "side.derived_in_place",
  tags = { "toy" },
  model = toy(cs.derived("experts[0].scale", "p", "in_place")),
  run = function(s)
    s:cold_start "A"
    for _, driver in ipairs { "layerwise", "direct", "raw_post_load" } do
      s:reload { driver = driver, checkpoint = "B" }
      s:expect(cs.equal())
      s:reload { driver = driver, checkpoint = "A" }
      s:expect(cs.equal())
    end
    s:reload { driver = "kernel_format", checkpoint = "B" }
    s:expect { params_differ = 0, side_moved = 0, side_differ = 1, graph_differ = 1 }
  end,
}
