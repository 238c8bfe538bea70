-- A server built on the meta device, with a finished server's tensors attached, then reloaded layer by layer. With the
-- released fault (F23) off, its padding value is recorded as 0 for everything: a scale created as ones gets 0 where its cold
-- start has 1 (R2.2, a known limitation).
return cs.scenario {
  name = "meta.build_then_reload",
  tags = { "toy", "R2.2", "R4.11" },
  model = cs.toy {
    params = { { name = "scale", shape = 4, dtype = "f32", created = "ones" } },
    loads = { A = { { param = "scale", at = 0, shape = 3, value = 2, marks = { { at = 3, shape = 1 } } } } },
  },
  run = function(s)
    s:cold_start { checkpoint = "A", driver = "meta_build" }
    s:expect { params_differ = 0, values = { scale = { 2, 2, 2, 1 } } }
    s:reload { driver = "layerwise", checkpoint = "A" }
    s:expect { params_differ = 1, values = { scale = { 2, 2, 2, 0 } } }
  end,
}
