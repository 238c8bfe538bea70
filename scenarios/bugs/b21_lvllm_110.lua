-- Lvllm#110 (P4): expert buffers are created empty and their alignment stays as it is: at TP4 some experts give NaN, at random, from the first
-- start on. Filled, the cold start is one and the same.
return cs.scenario {
  name = "bugs.b21.empty_alignment",
  tags = { "bugs", "toy", "P4" },
  policies = { "none", "record_and_fill" },
  model = cs.toy {
    params = { { name = "w2", shape = { 2, 4 }, dtype = "f32", created = "empty" } },
    loads = { A = { { param = "w2", at = { 0, 0 }, shape = { 2, 3 }, value = 1, marks = { { at = { 0, 3 }, shape = { 2, 1 } } } } } },
  },
  run = function(s)
    s:cold_start "A"
    s:expect { none = cs.undetermined(), record_and_fill = cs.equal() }
  end,
}
