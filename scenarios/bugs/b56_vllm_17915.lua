-- vllm#17915, #25694 (L2): post-load replaces the parameter and its loader with it: the default loader finds another shape.
local fault = require "models.lib.fault"
local function load(value) return { { param = "weight", at = { 0, 0, 0 }, shape = { 1, 4, 2 }, value = value } } end

return fault.pair {
  name = "bugs.b56.loader_lost",
  tags = { "bugs", "toy", "L2" },
  fault = "no_hosting",
  model = cs.toy {
    params = { { name = "weight", shape = { 1, 4, 2 }, dtype = "f32", created = "empty" } },
    loads = { A = load(1), B = load(2) },
    post_load = { cs.relayout("weight", "transpose"), cs.replace "weight" },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect(is_on and cs.refused() or { params_differ = 0 })
  end,
}
