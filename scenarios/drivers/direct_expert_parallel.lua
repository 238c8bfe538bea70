-- Direct reload with expert-parallel local ids (R4.10 b): rank 1 owns experts 3 and 4 as its first and second. As stale as with tensor
-- parallel when nothing refills, biases and scales of w13 and w2; equal when padding is recorded.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.direct.expert_parallel",
  tags = { "small", "R4.10" },
  model = models.gpt_oss_20b { layers = 1, experts = 5, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", ep = 2,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, loader in ipairs { "gpt_oss_combined", "gpt_oss_streamed" } do
      s:reload { driver = "direct", checkpoint = "B", loader = loader }
      s:expect { none = { params_differ = 8, params_moved = 0 }, record_and_fill = { params_differ = 0, params_moved = 0, side_moved = 6 } }
    end
  end,
}
