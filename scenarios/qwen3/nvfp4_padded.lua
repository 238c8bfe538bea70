-- NVFP4 that is padded (R4.10 c), in both places where that happens.
--
-- By post-load: 48 rows of a rank become 64, hidden 192 becomes 256, in new memory and with zeros, on each run. Nothing is created padded, so
-- that there is nothing to record, layerwise or in place.
--
-- At creation: DeepEP moves rows of 512 bytes, so hidden 224 becomes 256 in weights and scales alike: columns of w13, rows of w2, created empty.
-- Under `none` a cold start is undetermined already, and every reload differs from the one that fills: four tensors of each layer and rank,
-- garbage after a layerwise reload, swizzled scales and shuffled rows of the update before after a direct one.
local models = require "models.qwen3"

local own = 2 * 2 * 2 -- reciprocals of activation scales, of 2 layers and 2 ranks

local by_post_load = cs.scenario {
  name = "qwen3.nvfp4_padded",
  tags = { "R4.10" },
  model = models.qwen3_30b_a3b { layers = 2, experts = 4, hidden = 192, intermediate = 96 },
  method = "nvfp4_modelopt", backend = "flashinfer_trtllm", tp = 2,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "layerwise", checkpoint = checkpoint }
      s:expect { params_differ = 0, side_extra = 5 * 2 * 2, side_moved = own, fill_regions = 0 }
    end
    for _, checkpoint in ipairs { "B", "A" } do
      s:reload { driver = "direct", checkpoint = checkpoint }
      s:expect { params_differ = 0, params_moved = 0, side_extra = 0, side_moved = own, fill_regions = 0 }
    end
  end,
}

local function at_creation(driver)
  return cs.scenario {
    name = "qwen3.nvfp4_padded_at_creation." .. driver,
    tags = { "R4.10" },
    model = models.qwen3_30b_a3b { layers = 2, experts = 4, hidden = 224, intermediate = 64 },
    method = "nvfp4_modelopt", backend = "flashinfer_trtllm", ep = 2, all2all = "deepep_ht",
    policies = { "none", "record_and_fill" },
    run = function(s)
      s:cold_start "A"
      s:expect { none = cs.undetermined(), record_and_fill = cs.equal() }
      for _, checkpoint in ipairs { "B", "A" } do
        s:reload { driver = driver, checkpoint = checkpoint }
        s:expect {
          none = { params_differ = 4 * 2 * 2 }, -- weight and scale of w13 and w2, of 2 layers and 2 ranks
          record_and_fill = { params_differ = 0, fill_regions = 6 * 2 * 2 }, -- gate, up and w2, of weights and scales
          against = { policy = "record_and_fill" },
        }
      end
    end,
  }
end

return { by_post_load, at_creation "layerwise", at_creation "direct" }
