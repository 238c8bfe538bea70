-- Kimi-K2, experts over two ranks: nothing is padded. Two scales of each rank and layer, in the quant config, become orphan copies.
local models = require "models.deepseek"

local o = cs.declare {
  published = { false, "the published sizes, for --checkpoint A=DIR" },
  layers = { 2, "decoder layers", least = 2, most = 61 },
}
local small = { layers = o.layers, experts = 4, hidden = 256, intermediate = 256 }

return cs.scenario {
  name = "published.kimi_k2",
  model = models.kimi_k2(o.published and { layers = o.layers } or small),
  method = "fp8_block", backend = "flashinfer_trtllm", ep = 2,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { params_differ = 0, side_moved = 0, side_extra = 4 * (o.layers - 1), side_differ = 0 }
    end
  end,
}
