-- Graphs that are captured anew after a reload read where everything is by then: right again, until the next reload moves the copy once
-- more. What did not move is read by either graph.
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
  name = "side.captured_again",
  tags = { "toy", "S1" },
  model = toy(cs.derived("kernel.scale", "p")),
  run = function(s)
    s:cold_start "A"
    s:capture() -- nothing has moved: the same graph
    s:expect(cs.equal())
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { params_differ = 0, side_moved = 1, graph_differ = 1 } -- the copy is elsewhere
      s:capture()
      s:expect { params_differ = 0, side_moved = 1, graph_differ = 0 } -- and the graph reads there
    end
    s:reload { driver = "raw", checkpoint = "B" } -- no post-load: the copy stays, and is A's
    s:expect { params_differ = 0, side_differ = 1, graph_differ = 1 }
  end,
}
