-- Back ends once more with other loaders of their method than the first, there and back, layerwise and in place.
--
--   return require "models.lib.other_loaders" { { "method", { back ends }, { loaders }, bare = 6, experts = { bias = true } }, … }
--
-- Loaders that copy without the parameter's weight loader count nothing, so that a layerwise reload puts the old values back (F13):
-- `bare` parameters stay as they were.
local models = require "models.gpt_oss"

local function scenario(row, backend, loader)
  return cs.scenario {
    name = ("backends.%s.%s.%s"):format(row[1], backend, loader),
    tags = { "backends" },
    model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 256, intermediate = row.intermediate or 128 },
    method = row[1], backend = backend, loader = loader, experts = row.experts,
    run = function(s)
      s:cold_start "A"
      for _, checkpoint in ipairs { "B", "A" } do
        s:reload { driver = "layerwise", checkpoint = checkpoint }
        s:expect { params_differ = checkpoint == "B" and row.bare or 0, side_missing = 0 }
      end
      for _, checkpoint in ipairs { "B", "A" } do
        s:reload { driver = "direct", checkpoint = checkpoint }
        s:expect { params_differ = 0, params_moved = 0, side_extra = 0, side_differ = 0, side_missing = 0 }
      end
    end,
  }
end

return function(rows)
  local scenarios = {}
  for _, row in ipairs(rows) do
    for _, backend in ipairs(row[2]) do
      for _, loader in ipairs(row[3]) do scenarios[#scenarios + 1] = scenario(row, backend, loader) end
    end
  end
  return scenarios
end
