-- Modules do not depend on each other: whatever their order in a start or a reload, each holds what it would hold alone. Tensors of
-- one module keep their order, so that this holds of loaders, too, whose last tensor wins.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "laws.modules_in_any_order",
  tags = { "law" },
  kills = { "last_module_ends" }, -- nothing else sees it: in the file's order the last module does come last
  model = models.gpt_oss_20b { layers = 3, experts = 2, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", tp = 2,
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start { checkpoint = "A", order = "modules" }
    s:expect(cs.equal())
    s:reload { driver = "layerwise", checkpoint = "B", order = "modules" }
    s:expect { params_differ = 0, side_differ = 0 }
    s:reload { driver = "direct", checkpoint = "A", order = "modules" }
    s:expect { params_differ = 0, side_differ = 0 }
  end,
}
