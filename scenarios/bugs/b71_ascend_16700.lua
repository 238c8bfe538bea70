-- ascend#16700, #15463 (R7): kv_b_proj is emptied once its two halves are absorbed. It stays registered, and is no place to load into any more: weights that
-- are written into the running server meet a tensor of size 0. Reloads that make memory for it, from the description or beside it, are equal.
local function load(value)
  return { { param = "kv_b_proj", at = { 0, 0 }, shape = { 2, 4 }, value = value } }
end

local function scenario(driver, is_refused)
  return cs.scenario {
    name = "bugs.b71.emptied_source." .. driver,
    tags = { "bugs", "toy", "R7" },
    model = cs.toy {
      params = { { name = "kv_b_proj", shape = { 2, 4 }, dtype = "bf16", created = "empty" } },
      loads = { A = load(1), B = load(2) },
      post_load = {
        cs.select("w_uk", "kv_b_proj", 0, 0), cs.map("w_uk_t", "bf16", "w_uk"), cs.replace "w_uk_t",
        cs.select("w_uv", "kv_b_proj", 0, 1), cs.map("w_uv", "bf16", "w_uv"), cs.replace "w_uv",
        cs.empty "kv_b_proj",
      },
    },
    policies = { "none", "record_and_fill" },
    run = function(s)
      s:cold_start "A"
      s:expect { values = { w_uk_t = { 1, 1, 1, 1 }, w_uv = { 1, 1, 1, 1 } } }
      s:reload { driver = driver, checkpoint = "B" }
      s:expect(is_refused and cs.refused "kv_b_proj: narrow: start 0 + length 2 exceeds extent 0"
        or { params_differ = 0, params_moved = 0, values = { w_uk_t = { 2, 2, 2, 2 }, w_uv = { 2, 2, 2, 2 } } })
      if is_refused then return end
      s:reload { driver = driver, checkpoint = "A" }
      s:expect(cs.equal())
    end,
  }
end

return { scenario("raw_post_load", true), scenario("layerwise", false), scenario("direct", false) }
