-- A scale of the whole tensor is the largest value in it, padding included: online FP8 with one scale per tensor, whose hidden size
-- an all-to-all back end rounds up, lets garbage in padding decide the scale, and with it every byte of both weights. Records and a
-- fill keep the promise, since garbage never gets there; the law that padding decides nothing is broken all the same. (The scales
-- themselves do not count: the largest value of a generated tensor is the same in A and B, so that no checkpoint decides them.)
local models = require "models.qwen3"

local function law(method, leaks, kills)
  return cs.scenario {
    name = "laws.padding_reaches_a_scale." .. method,
    tags = { "law", "P4" }, kills = kills,
    model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 224, intermediate = 64 },
    method = method, backend = "triton", all2all = "deepep_ht",
    policies = { "record_and_fill" },
    run = function(s)
      s:cold_start "A"
      s:expect { params_differ = 0, params_lucky = 0, padding_leaks = leaks }
      s:reload { driver = "layerwise", checkpoint = "B" }
      s:expect { params_differ = 0, params_lucky = 0, padding_leaks = leaks }
    end,
  }
end

return {
  law("online_fp8_tensor", 2),
  law("online_fp8_block", 0, { "padding_not_cleared" }), -- post-load sets its padding to zero first
  law("unquantized", 0),      -- and here every element stays its own
}
