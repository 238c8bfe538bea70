-- Qwen3-235B-A22B as published in FP8. 384 over two ranks is one block of 128 and a half: Triton takes the scales on a grid
-- of 64. Two scales of each rank and layer, in the quant config, become orphan copies. Or as published in BF16.
local models = require "models.qwen3"

local o = cs.declare {
  published = { false, "the published sizes, for --checkpoint A=DIR" },
  layers = { 2, "decoder layers", least = 1, most = 94 },
  bf16 = { false, "the checkpoint in BF16" },
}
local small = { layers = o.layers, experts = 4, hidden = 256, intermediate = 384, fp8 = not o.bf16 }

return cs.scenario {
  name = "published.qwen3_235b_a22b",
  model = models.qwen3_235b_a22b(o.published and { layers = o.layers, fp8 = not o.bf16 } or small),
  method = o.bf16 and "unquantized" or "fp8_block", backend = "triton", tp = 2,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect(o.bf16 and cs.equal() or { params_differ = 0, side_moved = 0, side_extra = 4 * o.layers, side_differ = 0 })
    end
  end,
}
