-- As released: the device that a reload restores to was recorded while the model was on meta, so the first module that is
-- processed cannot be copied back, and the reload is refused (F23).
return cs.scenario {
  name = "meta.restore_device",
  tags = { "toy", "R6" },
  defects = { "meta_restore_device" },
  model = cs.toy {
    params = { { name = "scale", shape = 4, dtype = "f32", created = "ones" } },
    loads = { A = { { param = "scale", at = 0, shape = 3, value = 2, marks = { { at = 3, shape = 1 } } } } },
  },
  run = function(s)
    s:cold_start { checkpoint = "A", driver = "meta_build" }
    s:reload { driver = "layerwise", checkpoint = "A" }
    s:expect(cs.refused "Cannot copy out of meta tensor; no data!")
  end,
}
