-- A direct reload puts results where they were: through a clone when one lies where another is about to be put, and never loads into
-- storage that two parameters share (S9, R2). `a` and `b` have different shapes, so that replace_parameter rebinds them.
local function toy(steps)
  return cs.toy {
    params = { { name = "a", shape = 4, dtype = "f32", created = "empty" }, { name = "b", shape = { 2, 2 }, dtype = "f32", created = "empty" } },
    loads = {
      A = { { param = "b", at = { 0, 0 }, shape = { 2, 2 }, value = 1 }, { param = "a", shape = 4, value = 2 } },
      B = { { param = "b", at = { 0, 0 }, shape = { 2, 2 }, value = 3 }, { param = "a", shape = 4, value = 4 } },
    },
    post_load = steps,
  }
end

local function scenario(name, mutant, steps)
  return cs.scenario {
    name = "mutants.shared_places." .. name,
    tags = { "toy", "S9", "R2" },
    kills = { mutant },
    model = toy(steps),
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "direct", checkpoint = "B" }
      s:expect(cs.equal())
    end,
  }
end

return {
  scenario("exchanged", "overlap_not_cloned", { cs.take("t", "a"), cs.take("a", "b"), cs.take("b", "t"), cs.replace "a", cs.replace "b" }),
  scenario("one_storage", "shared_storage_hosted", { cs.take("a", "b"), cs.replace "a" }),
}
