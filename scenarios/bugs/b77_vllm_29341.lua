-- vllm#29341, #16564, #54235 (W): after sleep of level 2 weights hold anything; a wake without a reload talks gibberish, without a warning.
local models = require "models.gpt_oss"

local function scenario(is_on)
  return cs.scenario {
    name = "bugs.b77.wake_without_reload." .. (is_on and "on" or "off"),
    tags = { "bugs", "W" },
    model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
    method = "gpt_oss_mxfp4", backend = "emulation",
    run = function(s)
      s:cold_start "A"
      s:sleep(2)
      s:wake()
      if not is_on then s:reload { driver = "layerwise", checkpoint = "A" } end
      s:expect { params_differ = is_on and 11 or 0 }
    end,
  }
end

return { scenario(true), scenario(false) }
