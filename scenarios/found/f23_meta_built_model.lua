-- F23: a model built on the meta device remembers that device, and its reload materialises there: it cannot be reloaded.
local models = require "models.gpt_oss"

local function scenario(fault)
  return cs.scenario {
    name = "found.f23.meta_built_model." .. (fault and "on" or "off"),
    tags = { "found", "F23", "R8" },
    defects = fault and { "meta_restore_device" } or {}, kills = fault and {} or { "meta_restore_device" },
    model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
    method = "gpt_oss_mxfp4", backend = "emulation",
    run = function(s)
      s:cold_start { driver = "meta_build", checkpoint = "A" }
      s:reload { driver = "layerwise", checkpoint = "B" }
      s:expect(fault and cs.refused("Cannot copy out of meta tensor") or { params_differ = 0 })
    end,
  }
end

return { scenario(true), scenario(false) }
