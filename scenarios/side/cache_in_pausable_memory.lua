-- An index cache in memory that sleeps: it was computed once, nothing computes it again, and no checkpoint has it. Level 1 brings it
-- back; after level 2 the next reload mends every parameter, and not this.
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
  name = "side.cache_in_pausable_memory",
  tags = { "toy", "R8" },
  model = toy(cs.cache("workspace.indices", 3)),
  run = function(s)
    s:cold_start "A"
    s:sleep(1)
    s:wake()
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect(cs.equal())
    s:sleep(2)
    s:wake()
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect { params_differ = 0, params_moved = 0, side_moved = 0, side_differ = 1, graph_differ = 1 }
  end,
}
