-- vllm#55087 (V5): q, k and v convolution weights are merged once, during warm-up, from dummy weights; the real ones come later.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b40.merged_convolution",
  tags = { "bugs", "toy", "V5" },
  fault = "no_post_load",
  model = cs.toy {
    params = { { name = "conv", shape = { 3, 4 }, dtype = "f32", created = "empty" } },
    loads = { A = { { param = "conv", at = { 0, 0 }, shape = { 3, 4 }, value = 3 } } },
    post_load = { cs.map("conv_weights", "f32", "conv"), cs.replace "conv_weights" },
  },
  run = function(s, is_on)
    s:cold_start { driver = "dummy_start" }
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect { params_differ = is_on and 1 or 0 }
  end,
}
