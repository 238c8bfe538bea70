-- A direct load that stopped half-way left views in checkpoint layout behind, but not forgotten where its results belong: a whole load
-- after it ends what it began, at any position.
local models = require "models.gpt_oss"
local options = cs.declare { at = { 7, "after how many tensors the sender is gone", least = 0, most = 21 } }

return cs.scenario {
  name = "drivers.interrupted.direct",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 2, experts = 2, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "direct", checkpoint = "B", stop_after = options.at }
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect { params_differ = 0, params_moved = 0, params_lucky = 0, side_moved = 12, side_extra = 0 }
  end,
}
