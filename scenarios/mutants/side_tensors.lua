-- What the experts object owns is made anew by each post-load: it must be there, hold what it held, and graphs must be told that it
-- moved (S1).
local function toy(step)
  return cs.toy {
    params = { { name = "p", shape = 4, dtype = "f32", created = "zeros" } },
    loads = { A = { { param = "p", shape = 4, value = 1 } }, B = { { param = "p", shape = 4, value = 2 } } },
    post_load = { step },
  }
end

local function scenario(name, step, fixes, kills, driver, expected)
  return cs.scenario {
    name = "mutants.side_tensors." .. name,
    tags = { "toy", "S1", "S2" },
    fixes = fixes, kills = kills,
    model = toy(step),
    run = function(s)
      s:cold_start "A"
      s:reload { driver = driver, checkpoint = "B" }
      s:expect(expected)
    end,
  }
end

local constant, config = cs.constant("experts.alpha", 1.702), cs.config("quant_config.scale", "p")
local fixed = { "side_tensors_rebuilt" }

return {
  scenario("constant", constant, {}, { "constant_not_remade", "constant_not_written" }, "direct",
    { params_differ = 0, side_missing = 0, side_differ = 0 }),
  -- With the release's fault off they stay where they were, and the config holds the parameter.
  scenario("kept_constant", constant, fixed, fixed, "direct", cs.equal()),
  scenario("kept_config", config, fixed, fixed, "layerwise", cs.equal()),
}
