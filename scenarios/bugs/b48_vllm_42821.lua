-- vllm#42821, skyrl#1680 (L1): post-load for CUTLASS swaps gate and up of BF16 experts; a second raw load writes [gate; up] where the kernel reads
-- [up; gate]. Silent. w2 is as in the checkpoint, and right.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.drivers {
  name = "bugs.b48.second_raw_load",
  tags = { "bugs", "L1" },
  wrong = "raw", right = "layerwise",
  model = models.qwen3_30b_a3b { layers = 2, experts = 2, hidden = 64, intermediate = 64 },
  method = "unquantized", backend = "flashinfer_cutlass",
  run = function(s, is_on, driver)
    s:cold_start "A"
    for _, checkpoint in ipairs { "A", "B" } do
      s:reload { driver = driver, checkpoint = checkpoint }
      s:expect { params_differ = is_on and 2 or 0 } -- w13 of each layer
    end
  end,
}
