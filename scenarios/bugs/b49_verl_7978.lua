-- verl#7978, #7987 (L3): the first sync meets the 4-D layout of TRT-LLM's experts: "shard_dim=0 is not valid". 2 layers, 8 experts.
-- Loaded in checkpoint layout over the same bytes, processed and put back, all is equal.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.drivers {
  name = "bugs.b49.block_layout",
  tags = { "bugs", "L3" },
  wrong = "raw", right = "direct",
  model = models.qwen3_30b_a3b { layers = 2, experts = 8, hidden = 128, intermediate = 128, fp8 = true },
  method = "fp8_block", backend = "flashinfer_trtllm",
  run = function(s, is_on, driver)
    s:cold_start "A"
    s:reload { driver = driver, checkpoint = "B" }
    s:expect(is_on and cs.refused() or { params_differ = 0 })
  end,
}
