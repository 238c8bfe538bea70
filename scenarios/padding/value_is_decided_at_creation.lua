-- What padding must hold is decided by how the parameter was created (R2.2): an explicit value, else 1 for a floating dtype
-- created as ones, else 0. Integers created as ones give 0; uninitialised memory never sets the value, even when its bytes
-- happen to be those of 1.0, and bytes 0x01 are not ones.
local function param(name, dtype, created, more)
  local t = { name = name, shape = 2, dtype = dtype, created = created }
  for k, v in pairs(more or {}) do t[k] = v end
  return t
end

local calls = {}
for _, name in ipairs { "zeros", "ones", "bf16_ones", "full_one", "full_two", "explicit", "integer_ones", "empty", "scale_by_name" } do
  calls[#calls + 1] = { param = name, at = 0, shape = 1, value = 2, marks = { { at = 1, shape = 1 } } }
end

return cs.scenario {
  name = "padding.value_is_decided_at_creation",
  tags = { "toy", "R2.2" },
  model = cs.toy {
    params = {
      param("zeros", "f32", "zeros"),
      param("ones", "f32", "ones"),
      param("bf16_ones", "bf16", "ones"),
      param("full_one", "f32", "value", { value = 1 }),
      param("full_two", "f32", "value", { value = 2 }),
      param("explicit", "f32", "zeros", { padding_value = 3 }),
      param("integer_ones", "u8", "ones"),
      param("empty", "u8", "empty"),
      param("scale_by_name", "f32", "empty"),
    },
    loads = { A = calls, B = calls },
  },
  allocator = { fresh = "0x01", recycle_up_to = 0 },
  run = function(s)
    local expected = {
      params_differ = 0, fill_regions = 9, fill_calls = 1,
      values = {
        zeros = { 2, 0 }, ones = { 2, 1 }, bf16_ones = { 2, 1 }, full_one = { 2, 1 }, full_two = { 2, 0 }, explicit = { 2, 3 },
        integer_ones = { 2, 0 }, empty = { 2, 0 }, scale_by_name = { 2, 0 },
      },
    }
    s:cold_start "A"
    s:expect(expected)
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect(expected)
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect(expected)
  end,
}
