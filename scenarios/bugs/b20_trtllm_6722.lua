-- trtllm#6722 (P9): an MXFP4 shard starts inside a 32-block, so that its scales must be rounded out. Split evenly, 48 of 96 a rank, the last
-- one is lost, at a cold start as in a reload; by whole blocks, 64 and 32, each rank has its own.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "bugs.b20.shard_inside_a_block",
  tags = { "bugs", "P9" },
  standing = "partial_block_scale_lost",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 64, intermediate = 96 },
  method = "mxfp4", backend = "emulation", tp = 2,
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0 }
  end,
}
