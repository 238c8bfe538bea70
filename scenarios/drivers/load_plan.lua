-- No loader runs: strided copies that loaders made on meta are replayed into fresh memory. Padded MXFP4 cannot be planned: its loaders
-- copy less than the module counts.
local models = require "models.gpt_oss"

return cs.scenario {
  name = "drivers.load_plan.refused",
  tags = { "small", "R4.11" },
  model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "load_plan", checkpoint = "B" }
    s:expect(cs.refused "cannot be baked")
  end,
}
