-- F24: load_weights on a running TRT-LLM MXFP4 server, then post-load: weights are right by luck of their 32-row blocks, scales are
-- wrong everywhere, since e8m0 bytes are written as numbers into e4m3 storage. Silent. The layerwise reload is the way that works.
local models = require "models.gpt_oss"

local function scenario(driver, differ)
  return cs.scenario {
    name = "found.f24.raw_load." .. driver,
    tags = { "found", "F24", "L1", "L4" },
    model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 256, intermediate = 128 },
    method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
    run = function(s)
      s:cold_start "A"
      s:reload { driver = driver, checkpoint = "B" }
      s:expect { params_differ = differ } -- w13_weight_scale and w2_weight_scale
    end,
  }
end

return { scenario("raw_post_load", 2), scenario("layerwise", 0) }
