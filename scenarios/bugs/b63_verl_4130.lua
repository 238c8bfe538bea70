-- verl#4130 (V5): the server starts with dummy weights; the first real load does not run post-load again, and MLA's derived weights stay dummies.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b63.dummy_start",
  tags = { "bugs", "toy", "V5" },
  fault = "no_post_load",
  model = cs.toy {
    params = { { name = "kv_b_proj", shape = { 2, 4 }, dtype = "f32", created = "empty" } },
    loads = { A = { { param = "kv_b_proj", at = { 0, 0 }, shape = { 2, 4 }, value = 3 } } },
    post_load = {
      cs.select("w_uk", "kv_b_proj", 0, 0), cs.map("w_uk_t", "f32", "w_uk"), cs.replace "w_uk_t",
      cs.select("w_uv", "kv_b_proj", 0, 1), cs.map("w_uv_t", "f32", "w_uv"), cs.replace "w_uv_t",
    },
  },
  run = function(s, is_on)
    s:cold_start { driver = "dummy_start" }
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect { params_differ = is_on and 2 or 0 }
  end,
}
