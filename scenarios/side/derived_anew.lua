-- A copy of the parameter that an object of each post-load keeps: right, and elsewhere after each reload. Captured graphs read the old
-- place, which others got since.
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
  name = "side.derived_anew",
  tags = { "toy", "S1" },
  model = toy(cs.derived("kernel.scale", "p")),
  run = function(s)
    s:cold_start "A"
    s:expect(cs.equal())
    for _, driver in ipairs { "layerwise", "direct", "raw_post_load" } do
      s:reload { driver = driver, checkpoint = "B" }
      s:expect { params_differ = 0, side_moved = 1, side_differ = 0, side_missing = 0, graph_differ = 1 }
    end
  end,
}
