-- A closure captured a copy of the parameter: nobody who walks over objects finds it, only a graph that replays what kernels read.
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
  name = "side.closure",
  tags = { "toy", "S4" },
  model = toy(cs.closure("apply", "p", "once")),
  run = function(s)
    s:cold_start "A"
    s:expect(cs.equal())
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { params_differ = 0, params_moved = 0, side_moved = 0, side_extra = 0, side_missing = 0, side_differ = 0, graph_differ = 1 }
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect(cs.equal())
  end,
}
