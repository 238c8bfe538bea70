-- vllm#50538 (S4): NVFP4 experts keep 3 runtime scales of each layer on a wrapper that a reload builds anew: 144 of 144 moved, no parameter
-- did, and no byte changed; the engine hangs.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b33.runtime_scales",
  tags = { "bugs", "toy", "S4" },
  standing = "side_tensors_rebuilt",
  model = cs.toy {
    params = { { name = "weight", shape = 4, dtype = "f32", created = "empty" } },
    loads = { A = { { param = "weight", shape = 4, value = 2 } } },
    post_load = { cs.constant("experts.alpha", 1), cs.constant("experts.beta", 2), cs.constant("wrapper.workspace", 3) },
  },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "A" }
    s:expect { params_differ = 0, params_moved = 0, side_moved = is_on and 3 or 0 }
  end,
}
