-- Captured graphs read the addresses of the cold start: a reload that leaves equal bytes elsewhere is wrong. Post-load reorders and
-- casts, so that its results are new tensors.
local function call(value) return { param = "p", shape = 4, value = value } end

local function scenario(driver, mutant, name, expected)
  return cs.scenario {
    name = "mutants.addresses_stay." .. name,
    tags = { "toy", "S8" },
    kills = { mutant },
    model = cs.toy {
      params = { { name = "p", shape = 4, dtype = "f32", created = "zeros" } },
      loads = { A = { call(1) }, B = { call(2) } },
      post_load = { cs.cast("p", "bf16"), cs.replace "p" },
    },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = driver, checkpoint = "B" }
      s:expect(expected)
    end,
  }
end

return {
  scenario("layerwise", "new_objects_placed", "layerwise", { params_differ = 0, params_moved = 0 }),
  scenario("direct", "put_back_skipped", "direct", { params_differ = 0, params_moved = 0 }),
  scenario("layerwise", "new_objects_placed", "replayed", { graph_differ = 0 }),
}
