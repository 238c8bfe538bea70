-- vllm#46441, #27025, #28715, #51130 (T): start and end of a rank's experts are mixed up, or counted by the wrong group: ranks other than 0 load
-- no expert at all, and say nothing.
local models, fault = require "models.qwen3", require "models.lib.fault"

return fault.pair {
  name = "bugs.b73.no_experts",
  tags = { "bugs", "T" },
  fault = "experts_of_rank_0",
  model = models.qwen3_30b_a3b { layers = 1, experts = 4, hidden = 64, intermediate = 64 },
  method = "unquantized", backend = "triton", ep = 2,
  run = function(s, is_on)
    s:cold_start "A"
    s:expect(is_on and cs.undetermined() or cs.equal())
  end,
}
