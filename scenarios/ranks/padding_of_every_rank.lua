-- The largest value of a weight is taken over all ranks and over padding too: an all-to-all back end rounds the hidden size up, 224 to 256, and
-- garbage in those rows and columns decides the scale that every rank divides by. Without a fill the cold start is undetermined already. Records
-- and a fill keep the promise; the law that padding decides nothing is broken on both ranks, in both weights: 4 (the scales themselves are the same
-- in A and B, so that no checkpoint decides them). With a scale for each row, padding columns of w13 decide its scales and so its numbers, on both
-- ranks: 4; padding rows of w2 only their own.
local models = require "models.qwen3"

local function scenario(method, leaks)
  return cs.scenario {
    name = "ranks.padding_of_every_rank." .. method,
    tags = { "ranks", "P4" },
    model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 224, intermediate = 128 },
    method = method, backend = "triton", all2all = "deepep_ht", tp = 2,
    policies = { "none", "record_and_fill" },
    run = function(s)
      s:cold_start "A"
      s:expect { none = cs.undetermined(), record_and_fill = { params_differ = 0, params_lucky = 0, padding_leaks = leaks } }
      for _, driver in ipairs { "layerwise", "direct" } do
        for _, checkpoint in ipairs { "B", "A" } do
          s:reload { driver = driver, checkpoint = checkpoint }
          s:expect { none = cs.undetermined(), record_and_fill = { params_differ = 0, params_lucky = 0 } }
        end
      end
    end,
  }
end

return { scenario("online_fp8_tensor", 4), scenario("online_fp8_channel", 4) }
