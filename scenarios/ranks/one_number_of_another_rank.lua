-- Online FP8 on two ranks, and a checkpoint in which one number of one weight became 300: it stands in the half that rank 1 loads. A rank that
-- takes notice of it gets another scale, the quant config, which refers to the scale, sees it, and all its numbers are divided by it: 3 tensors.
-- Where the scale is taken over all ranks, that is both of them, although rank 0 was sent nothing new; else rank 1 alone.
local models = require "models.qwen3"

local function scenario(method, tensor, row, column, changed)
  return cs.scenario {
    name = "ranks.one_number_of_another_rank." .. method .. "." .. tensor,
    tags = { "ranks" },
    model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 128, intermediate = 128 },
    method = method, backend = "triton", tp = 2,
    policies = { "none", "record_and_fill" },
    checkpoints = {
      A = cs.synthetic(),
      B = cs.patched("A", "model.layers.0.mlp.experts.1." .. tensor .. ".weight", { row, column }, 300),
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
  scenario("online_fp8_tensor", "up_proj", 100, 3, 6),    -- rows 64 to 127 are rank 1's
  scenario("online_fp8_tensor", "down_proj", 3, 100, 6),  -- columns 64 to 127
  scenario("online_fp8_channel", "up_proj", 100, 3, 3),   -- a row is whole on its rank
  scenario("online_fp8_channel", "down_proj", 3, 100, 6), -- and here half of it
}
