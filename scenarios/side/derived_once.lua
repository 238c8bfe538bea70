-- A copy that the module made once: at its place for ever, with the values of the first checkpoint. Addresses look right.
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
  name = "side.derived_once",
  tags = { "toy", "S2" },
  model = toy(cs.derived("quant_method.cache[\"p\"]", "p", "once")),
  run = function(s)
    s:cold_start "A"
    for _, driver in ipairs { "layerwise", "direct", "kernel_format" } do
      s:reload { driver = driver, checkpoint = "B" }
      s:expect { params_differ = 0, side_moved = 0, side_differ = 1, graph_differ = 1 }
      s:reload { driver = driver, checkpoint = "A" }
      s:expect(cs.equal()) -- back where it was made
    end
  end,
}
