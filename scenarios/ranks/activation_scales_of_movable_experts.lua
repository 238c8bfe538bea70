-- FP8 with one activation scale for all experts of a layer. Where load balancing may move an expert to another rank, the scale is the largest of
-- all ranks, else each rank's own. One scale of one expert, which rank 1 alone has, becomes 1000: the layer's scale changes, and the quant config,
-- which refers to it, sees that. On one rank (2 tensors), or on both (4).
local models = require "models.qwen3"

local function scenario(name, redundant, changed)
  return cs.scenario {
    name = "ranks.activation_scales." .. name,
    tags = { "ranks" },
    model = models.qwen3_30b_a3b { layers = 1, experts = 4, hidden = 128, intermediate = 128 },
    method = "fp8_tensor", backend = "triton", ep = 2,
    quantization = { static_input = true },
    experts = redundant and { redundant = redundant } or nil,
    policies = { "none", "record_and_fill" },
    checkpoints = {
      A = cs.synthetic(),
      B = cs.patched("A", "model.layers.0.mlp.experts.3.up_proj.input_scale", 0, 1000),
    },
    run = function(s)
      s:cold_start "A"
      s:expect(cs.equal())
      for _, checkpoint in ipairs { "B", "A" } do
        s:reload { driver = "direct", checkpoint = checkpoint }
        s:expect { params_differ = 0, changed = changed }
      end
    end,
  }
end

return {
  scenario("each_rank_its_own", nil, 2),
  scenario("the_largest_of_all", 2, 4), -- experts 0 1 2 on rank 0, 3 and copies of 0 and 1 on rank 1
}
