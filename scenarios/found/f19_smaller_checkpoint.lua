-- F19: a checkpoint that is smaller than configured is accepted, as a smaller rectangle: what it does not reach keeps the server's old values
-- in place, is garbage after a layerwise reload, and nobody is told. A cold start of the same checkpoint has zeros there.
local function load(n, value) return { { param = "w", at = { 0, 0 }, shape = { n, 4 }, value = value } } end

local function scenario(policy, driver, differ)
  return cs.scenario {
    name = "found.f19.smaller_checkpoint." .. driver .. "." .. policy,
    tags = { "found", "F19", "N" },
    policies = { policy },
    model = cs.toy {
      params = { { name = "w", shape = { 4, 4 }, dtype = "f32", created = "zeros" } },
      loads = { A = load(4, 1), B = { { param = "w", at = { 0, 0 }, shape = { 3, 4 }, value = 2, marks = { { at = { 3, 0 }, shape = { 1, 4 } } } } } },
    },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = driver, checkpoint = "B" }
      s:expect { params_differ = differ }
    end,
  }
end

return {
  scenario("none", "direct", 1), scenario("none", "layerwise", 1),
  scenario("record_and_fill", "direct", 0), scenario("record_and_fill", "layerwise", 0),
}
