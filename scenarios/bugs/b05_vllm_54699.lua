-- vllm#54699 (P2): BF16 experts are converted in place, and the tails were cleared only at creation: the second conversion moves the
-- first one's bytes about. Gated: both halves have a tail. The conversion swaps the halves, in place.
local function load(value)
  return {
    { param = "w13", shape = 3, value = value, marks = { { at = 3, shape = 1 } } },
    { param = "w13", at = 4, shape = 2, value = value + 10, marks = { { at = 6, shape = 2 } } },
  }
end

return cs.scenario {
  name = "bugs.b05.in_place_conversion",
  tags = { "bugs", "toy", "P2" },
  policies = { "none", "record_and_fill" },
  allocator = { fresh = "nan" },
  model = cs.toy {
    params = { { name = "w13", shape = 8, dtype = "bf16", created = "zeros" } },
    loads = { A = load(1), B = load(2) },
    post_load = { cs.relayout("w13", "swap_halves"), cs.replace "w13" },
  },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { none = { params_differ = 1 }, record_and_fill = { params_differ = 0, values = { w13 = { 12, 12, 0, 0, 2, 2, 2, 0 } } } }
  end,
}
