-- gpt-oss-20b in MXFP4, on one rank: 224 × 96 become 256 × 128, as 2880 × 2880 become 3072 × 2944.
-- Layerwise reloads move three side tensors of each layer and rank, and leave orphan copies of the quant config's four.
local models = require "models.gpt_oss"

local o = cs.declare {
  published = { false, "the published sizes, for --checkpoint A=DIR" },
  layers = { 2, "decoder layers", least = 1, most = 24 },
}
local small = { layers = o.layers, experts = 4, hidden = 224, intermediate = 96 }

return cs.scenario {
  name = "published.gpt_oss_20b",
  model = models.gpt_oss_20b(o.published and { layers = o.layers } or small),
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 1,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { params_differ = 0, side_moved = 3 * o.layers, side_extra = 4 * o.layers, side_differ = 0 }
    end
  end,
}
