-- What recording changes in a cold start (R4.9): (a) padding of a parameter created empty is now the fill value, (b) padding of
-- integers created as ones goes from 0x01 to 0x00. Everything else is equal: 3 of 5 parameters here.
local function toy(padding_value)
  local function call(name) return { param = name, at = 0, shape = 1, value = 2, marks = { { at = 1, shape = 1 } } } end
  return cs.toy {
    params = {
      { name = "zeros", shape = 2, dtype = "f32", created = "zeros" },
      { name = "ones", shape = 2, dtype = "f32", created = "ones" },
      { name = "whole", shape = 1, dtype = "f32", created = "empty" },
      { name = "empty", shape = 2, dtype = "f32", created = "empty" },
      { name = "integer_ones", shape = 2, dtype = "u8", created = "ones", padding_value = padding_value },
    },
    loads = { A = { call "zeros", call "ones", { param = "whole", at = 0, shape = 1, value = 2 }, call "empty", call "integer_ones" } },
  }
end

return cs.scenario {
  name = "padding.cold_start_changes",
  tags = { "toy", "R4.9" },
  model = toy(nil),
  allocator = { fresh = "0xAA" },
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 2, against = { policy = "none" }, values = { empty = { 2, 0 }, integer_ones = { 2, 0 }, ones = { 2, 1 } } }
    s:expect(cs.equal())
  end,
}
