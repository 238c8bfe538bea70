-- nemo-rl#2959, #3296 (L3): the same at the first refit of Qwen3-30B-A3B, though post-load would have run afterwards.
-- Loaded in checkpoint layout over the same bytes, processed and put back, all is equal.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.drivers {
  name = "bugs.b50.block_layout",
  tags = { "bugs", "L3" },
  wrong = "raw_post_load", right = "direct",
  model = models.qwen3_30b_a3b { layers = 2, experts = 8, hidden = 128, intermediate = 128, fp8 = true },
  method = "fp8_block", backend = "flashinfer_trtllm",
  run = function(s, is_on, driver)
    s:cold_start "A"
    s:reload { driver = driver, checkpoint = "B" }
    s:expect(is_on and cs.refused() or { params_differ = 0 })
  end,
}
