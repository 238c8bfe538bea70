-- vllm#48251 (V1, S7): what post-load derives is not made again: a float32 copy of attention sinks, and the two halves of MLA's kv_b_proj.
-- After A → B the sources are B's and the three derived tensors still A's.
local fault = require "models.lib.fault"
local function load(value)
  return { { param = "sinks", shape = 4, value = value }, { param = "kv_b_proj", at = { 0, 0 }, shape = { 2, 4 }, value = value } }
end

return fault.pair {
  name = "bugs.b36.derived_tensors",
  tags = { "bugs", "toy", "V1", "S7" },
  fault = "no_post_load",
  model = cs.toy {
    params = {
      { name = "sinks", shape = 4, dtype = "bf16", created = "empty" },
      { name = "kv_b_proj", shape = { 2, 4 }, dtype = "f32", created = "empty" },
    },
    loads = { A = load(1), B = load(2) },
    post_load = {
      cs.map("sinks_f32", "f32", "sinks"), cs.replace "sinks_f32",
      cs.select("w_uk", "kv_b_proj", 0, 0), cs.map("w_uk_t", "f32", "w_uk"), cs.replace "w_uk_t",
      cs.select("w_uv", "kv_b_proj", 0, 1), cs.map("w_uv_t", "f32", "w_uv"), cs.replace "w_uv_t",
    },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { params_differ = is_on and 3 or 0 }
  end,
}
