-- DeepSeek-V3. 384 over two ranks is no whole number of blocks: rank 0 takes two of the three, and rank 1 pads. Two scales of each
-- rank and layer, in the quant config, become orphan copies.
local models = require "models.deepseek"

local o = cs.declare {
  published = { false, "the published sizes, for --checkpoint A=DIR" },
  layers = { 4, "decoder layers", least = 4, most = 61 },
}
local small = { layers = o.layers, experts = 4, hidden = 256, intermediate = 384 }

return cs.scenario {
  name = "published.deepseek_v3",
  model = models.deepseek_v3(o.published and { layers = o.layers } or small),
  method = "fp8_block", backend = "flashinfer_cutlass", tp = 2,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { params_differ = 0, side_moved = 0, side_extra = 4 * (o.layers - 3), side_differ = 0 }
    end
  end,
}
