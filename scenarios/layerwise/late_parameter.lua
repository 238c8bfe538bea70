-- A parameter that the model registers while it loads, when the module's first tensor comes. A reload that began before has not seen it: its
-- live name is gone and nothing on meta stands for it. The total is counted anew in each call, so that the module waits for it; its result goes
-- back into the old object. A server that never had it, started with random numbers, has not got it after a layerwise reload either: only names that were
-- there before return.
local function load(value)
  return { { param = "weight", shape = 4, value = value }, { param = "late", shape = 2, value = value + 1 } }
end

local function scenario(name, post_load, run)
  return cs.scenario {
    name = "layerwise.late_parameter." .. name,
    tags = { "toy", "L9" },
    model = cs.toy {
      params = {
        { name = "weight", shape = 4, dtype = "bf16", created = "empty" },
        { name = "late", shape = 2, dtype = "bf16", created = "empty", late = true },
      },
      loads = { A = load(1), B = load(3) },
      post_load = post_load,
    },
    policies = { "none", "record_and_fill" },
    run = run,
  }
end

return {
  scenario("there_and_back", { cs.cast("late", "f32"), cs.replace "late" }, function(s)
    s:cold_start "A"
    s:expect { params_differ = 0, values = { weight = { 1, 1, 1, 1 }, late = { 2, 2 } } }
    for _, driver in ipairs { "layerwise", "direct", "load_plan" } do
      s:reload { driver = driver, checkpoint = "B" }
      s:expect { params_differ = 0, params_moved = 0, missing = 0, excess = 0, values = { weight = { 3, 3, 3, 3 }, late = { 4, 4 } } }
      s:reload { driver = driver, checkpoint = "A" }
      s:expect { params_differ = 0, params_moved = 0, missing = 0, excess = 0, values = { weight = { 1, 1, 1, 1 }, late = { 2, 2 } } }
    end
    s:expect(cs.equal())
  end),
  scenario("dummy_start", {}, function(s)
    s:cold_start { driver = "dummy_start" }
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 1, excess = 0, values = { weight = { 3, 3, 3, 3 } } }
  end),
}
