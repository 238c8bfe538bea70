-- vllm#37010 (where padding comes from): an all-to-all back end rounds the hidden dimension, 2688 to 3072, here 224 to 256; a loader
-- that copies whole tensors cannot load the checkpoint, one that narrows can.
local models, fault = require "models.gpt_oss", require "models.lib.fault"

return fault.pair {
  name = "bugs.b06.rounded_hidden",
  tags = { "bugs", "P9" },
  standing = "combined_takes_no_padding",
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 224, intermediate = 64 },
  method = "unquantized", backend = "triton", loader = "gpt_oss_bf16_combined", all2all = "deepep_ht",
  run = function(s, is_on)
    s:cold_start "A"
    s:expect(is_on and cs.refused("is padded") or cs.equal())
  end,
}
