-- F19: a checkpoint of smaller experts than configured is accepted, as a smaller rectangle: what it does not reach is garbage after a layerwise
-- reload and the update before in place, and nobody is told. Recorded and filled it is at least the same each time: zeros. Undetected all
-- the same: a checkpoint of another size should be refused.
local models, fault = require "models.qwen3", require "models.lib.fault"

local scenarios = {}
for _, driver in ipairs { "layerwise", "direct" } do
  for _, scenario in ipairs(fault.pair {
    name = "found.f19.smaller_checkpoint." .. driver,
    tags = { "found", "F19", "N" },
    fault = "sizes_unchecked",
    model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
    method = "unquantized", backend = "triton",
    policies = { "none", "record_and_fill" },
    checkpoints = { A = cs.pattern(0), B = cs.pattern(1, 48) },
    run = function(s, is_on)
      s:cold_start "A"
      s:reload { driver = driver, checkpoint = "B" }
      if not is_on then return s:expect(cs.refused "a model of another size") end
      s:expect {
        none = { params_differ = 2 }, -- w13_weight and w2_weight
        record_and_fill = { params_differ = 0, fill_regions = 3 }, -- rows of gate and up, columns of w2
        against = { policy = "record_and_fill" },
      }
    end,
  }) do scenarios[#scenarios + 1] = scenario end
end
return scenarios
