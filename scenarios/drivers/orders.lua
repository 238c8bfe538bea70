-- Loads that nobody planned for, all harmless when padding is recorded: nothing at all, tensors in any order, the same twice.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.orders",
  tags = { "small" },
  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, driver in ipairs { "layerwise", "direct" } do
      s:reload { driver = driver, checkpoint = "A", only = {} }
      s:expect { params_differ = 0, missing = 21, side_missing = 0, fill_calls = 0 }
      s:reload { driver = driver, checkpoint = "B", order = "reversed" }
      s:expect { params_differ = 0 }
      s:reload { driver = driver, checkpoint = "B", order = "shuffled" }
      s:expect { params_differ = 0 }
      s:reload { driver = driver, checkpoint = "A", unknown = { "model.layers.0.nobody" }, unknown_at = 3 }
      s:expect { params_differ = 0, excess = 1 } -- gpt-oss ignores names that it does not know
    end
  end,
}
