-- F3: the streamed loader splits by the padded size: TP2 with 96 = 3 blocks a rank, padded to 128. Started by the combined loader and
-- reloaded by the streamed one, rank 0 takes 32 rows of its neighbour's and rank 1 starts 32 rows too late. By whole blocks they agree.
local models = require "models.gpt_oss"

local function scenario(fault)
  return cs.scenario {
    name = "found.f03.streamed_loader." .. (fault and "on" or "off"),
    tags = { "found", "F3", "P5" },
    defects = fault and { "streamed_padded_split" } or {}, kills = fault and {} or { "streamed_padded_split" },
    model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 224, intermediate = 192 },
    method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B", loader = "gpt_oss_streamed" }
      -- all but w2_bias, which nobody splits, on both ranks
      s:expect { params_differ = fault and 10 or 0 }
    end,
  }
end

return { scenario(true), scenario(false) }
