-- A server that gets another checkpoint and its own again, layerwise and then in place, through one back end.
--
--   return require "models.lib.there_and_back" { method = "awq", backend = "marlin", held = 4 }
--
-- held, owned: tensors of a layer and rank that quant config and experts object share with parameters, and that they own. A layerwise reload
-- makes orphan copies of the former and moves the latter; in place only the latter move.
local models = require "models.gpt_oss"

return function(o)
  local layers, tp = 1, o.tp or 1
  local n = layers * tp
  local counts = {
    layerwise = { params_differ = 0, side_extra = (o.held or 0) * n, side_moved = (o.owned or 0) * n, side_differ = 0, side_missing = 0 },
    direct = { params_differ = 0, params_moved = 0, side_extra = 0, side_moved = (o.owned or 0) * n, side_differ = 0, alias_differ = 0 },
  }
  return cs.scenario {
    name = o.name or "backends." .. o.method .. "." .. o.backend,
    tags = o.tags or { "backends" },
    model = models.gpt_oss_20b { layers = layers, experts = 2, hidden = o.hidden or 256, intermediate = o.intermediate or 256 },
    method = o.method, backend = o.backend, loader = o.loader, experts = o.experts, quantization = o.quantization, tp = tp,
    policies = o.policies or { "none", "record_and_fill" },
    run = function(s)
      s:cold_start "A"
      for _, driver in ipairs(o.drivers or { "layerwise", "direct" }) do
        for _, checkpoint in ipairs { "B", "A" } do
          s:reload { driver = driver, checkpoint = checkpoint }
          s:expect(counts[driver])
        end
      end
    end,
  }
end
