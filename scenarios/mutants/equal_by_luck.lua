-- Memory that happens to be zero hides padding that nobody fills. The verdict must not trust it: the same run over other garbage
-- differs (R8.3).
return cs.scenario {
  name = "mutants.equal_by_luck",
  tags = { "toy", "R8.3" },
  kills = { "no_fill" },
  model = cs.toy {
    params = { { name = "p", shape = 4, dtype = "f32", created = "zeros" } },
    loads = {
      A = { { param = "p", shape = 3, value = 1, marks = { { at = 3, shape = 1 } } } },
      B = { { param = "p", shape = 3, value = 2, marks = { { at = 3, shape = 1 } } } },
    },
  },
  allocator = { fresh = "zero", recycle_up_to = 0 },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect(cs.equal())
  end,
}
