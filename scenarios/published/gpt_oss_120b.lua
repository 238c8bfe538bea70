-- gpt-oss-120b in MXFP4, on two ranks: 48 of each become 128, as 1440 become 1536.
-- Layerwise reloads move three side tensors of each layer and rank, and leave orphan copies of the quant config's four.
local models = require "models.gpt_oss"

local o = cs.declare {
  published = { false, "the published sizes, for --checkpoint A=DIR" },
  layers = { 2, "decoder layers", least = 1, most = 36 },
}
local small = { layers = o.layers, experts = 4, hidden = 224, intermediate = 96 }

return cs.scenario {
  name = "published.gpt_oss_120b",
  model = models.gpt_oss_120b(o.published and { layers = o.layers } or small),
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { params_differ = 0, side_moved = 6 * o.layers, side_extra = 8 * o.layers, side_differ = 0 }
    end
  end,
}
