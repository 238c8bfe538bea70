-- Expert parallel, five experts over two ranks: 3 + 2, each rank owns whole experts.
local models = require "models.gpt_oss"

local cured = { params_differ = 0, params_lucky = 0, side_moved = 6, side_extra = 8, side_differ = 0 }

return cs.scenario {
  name = "gpt_oss.mxfp4.trtllm.ep2.sync",
  note = "experts 0 to 2 and 3 to 4",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 1, experts = 5, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", ep = 2,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { none = { params_differ = 12, side_moved = 6, side_extra = 8 }, record_and_fill = cured }
    s:reload { driver = "layerwise", checkpoint = "C", loader = "gpt_oss_streamed" }
    s:expect { none = { params_differ = 12, side_moved = 6, side_extra = 8 }, record_and_fill = cured }
  end,
}
