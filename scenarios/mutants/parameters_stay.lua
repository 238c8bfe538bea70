-- A reload in place writes through the checkpoint's names, so post-load must leave them: renamed parameters are the same object under both
-- names, and second-level scales that shrink from two per expert to one keep their storage. The release drops them.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "mutants.parameters_stay",
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 256, intermediate = 128 },
  method = "nvfp4_ct", backend = "flashinfer_trtllm", tp = 2,
  kills = { "forgets_parameters" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "direct", checkpoint = checkpoint }
      s:expect { params_differ = 0, params_moved = 0, side_moved = 2 * 2 * 2, side_extra = 0, side_differ = 0 }
    end
  end,
}
