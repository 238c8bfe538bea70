-- vllm#48644 (L12): tensors that arrive out of order keep every layer waiting, and its tensors in memory: more than 40 GB. In the file's order one
-- layer waits at a time. Experts of two layers, 2 × 64 × 64 bf16 w13 halves and w2, and what stands beside them.
local models = require "models.qwen3"

local function scenario(order, experts)
  return cs.scenario {
    name = "bugs.b90.out_of_order." .. order,
    tags = { "bugs", "L12" },
    model = models.qwen3_30b_a3b { layers = 2, experts = 2, hidden = 64, intermediate = 64 },
    method = "unquantized", backend = "triton",
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B", order = order }
      s:expect { params_differ = 0 }
    end,
  }
end

return { scenario("file"), scenario("shuffled") }
