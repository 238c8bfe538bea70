-- vllm#41670 (S2, S3): channel-wise FP8 experts with CUTLASS: the config points at an orphan scale, the kernel at new stride tensors. Three
-- reloads of the same weights are right eagerly, and crash with graphs.
local fault = require "models.lib.fault"

return fault.pair {
  name = "bugs.b31.identity_reload",
  tags = { "bugs", "toy", "S2", "S3" },
  standing = "side_tensors_rebuilt",
  model = cs.toy {
    params = { { name = "weight_scale", shape = 4, dtype = "f32", created = "ones" } },
    loads = { A = { { param = "weight_scale", shape = 4, value = 2 } } },
    post_load = { cs.config("quant_config.scale", "weight_scale"), cs.constant("kernel.strides", 128) },
  },
  run = function(s, is_on)
    s:cold_start "A"
    for _ = 1, 3 do
      s:reload { driver = "layerwise", checkpoint = "A" }
      s:expect { params_differ = 0, side_extra = is_on and 1 or 0, side_moved = is_on and 1 or 0 }
    end
  end,
}
