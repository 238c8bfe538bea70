-- NVFP4 that is padded (R4.10 c): 48 rows of a rank become 64, hidden 192 becomes 256. Post-load pads, into new memory and with zeros, on each
-- run; nothing is created padded, so that there is nothing to record, layerwise or in place.
local models = require "models.qwen3"

local own = 2 * 2 * 2 -- reciprocals of activation scales, of 2 layers and 2 ranks

return cs.scenario {
  name = "qwen3.nvfp4_padded",
  tags = { "R4.10" },
  model = models.qwen3_30b_a3b { layers = 2, experts = 4, hidden = 192, intermediate = 96 },
  method = "nvfp4_modelopt", backend = "flashinfer_trtllm", tp = 2,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { params_differ = 0, side_extra = 5 * 2 * 2, side_moved = own, fill_regions = 0 }
    end
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "direct", checkpoint = checkpoint }
      s:expect { params_differ = 0, params_moved = 0, side_extra = 0, side_moved = own, fill_regions = 0 }
    end
  end,
}
