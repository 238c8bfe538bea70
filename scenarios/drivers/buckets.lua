-- Tensors that travel in buckets. A module that waits for its count holds what it will read by reference: when every bucket lands in
-- the same buffer, it reads what came last. Padded modules wait for the end of the load. Then layer 0, whose tensors came in the
-- second and third bucket, has none of its six right; layer 1 has those that the sixth bucket, a norm of 448 bytes, and the fifth
-- left alone: the scales of w13, which lay behind its end, and its own w2_weight, w2_weight_scale and w2_bias.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.buckets.shared",
  tags = { "small", "L7" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B", bucket = 4, buffer = "shared" }
    s:expect { params_differ = 6 + 2 }
    s:reload { driver = "direct", checkpoint = "B", bucket = 4, buffer = "shared" } -- nothing waits
    s:expect { params_differ = 0, source_differ = 0 }
    s:reload { driver = "layerwise", checkpoint = "A", bucket = 4, buffer = "own" }
    s:expect { params_differ = 0 }
    s:reload { driver = "layerwise", checkpoint = "B", bucket = "64KiB", order = "shuffled", pieces = 3 }
    s:expect { params_differ = 0 }
  end,
}
