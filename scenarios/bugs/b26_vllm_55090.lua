-- vllm#55090, #56301 (P12): a weight has more bytes from row to row than its row needs; nothing reads those between. They are counted, and
-- not compared: here every second column of `w`, seen as a parameter of its own.
return cs.scenario {
  name = "bugs.b26.stride_only_padding",
  tags = { "bugs", "toy", "P12" },
  model = cs.toy {
    params = { { name = "w", shape = { 4, 2 }, dtype = "f32", created = "zeros" } },
    loads = {
      A = { { param = "w", at = { 0, 0 }, shape = { 4, 2 }, value = 1 } },
      B = { { param = "w", at = { 0, 0 }, shape = { 4, 2 }, value = 2 } },
    },
    post_load = { cs.select("rows", "w", 1, 0), cs.replace "rows" },
  },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, gap_bytes = 3 * 4 }
  end,
}
