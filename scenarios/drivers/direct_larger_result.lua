-- Results that are larger than what the checkpoint has, in place (R6). Their own storage hosts the next load: four numbers of bf16 over eight
-- of f32. Post-load widens them again, and they go back where graphs read them. What no loader writes is the upper half of another number
-- of the update before: its second one, as bf16. Filled, it is the 1 that it was created with.
local function load(a, b, c)
  return { { param = "scale", at = { 0, 0 }, shape = { 1, 3 }, values = { a, b, c }, marks = { { at = { 0, 3 }, shape = { 1, 1 } } } } }
end

local toy = cs.scenario {
  name = "drivers.direct_larger_result",
  tags = { "toy", "R6" },
  model = cs.toy {
    params = { { name = "scale", shape = { 1, 4 }, dtype = "bf16", created = "ones" } },
    loads = { A = load(2, 3, 4), B = load(5, 6, 7) },
    post_load = { cs.cast("scale", "f32"), cs.pad("scale", 8, 1), cs.replace "scale" },
  },
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 0, values = { scale = { 2, 3, 4, 1, 0, 0, 0, 0 } } }
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect {
      none = { params_differ = 1, params_moved = 0, values = { scale = { 5, 6, 7, 3, 0, 0, 0, 0 } } },
      record_and_fill = { params_differ = 0, params_moved = 0, values = { scale = { 5, 6, 7, 1, 0, 0, 0, 0 } } },
    }
    s:reload { driver = "direct", checkpoint = "A" }
    s:expect {
      none = { params_differ = 1, params_moved = 0, values = { scale = { 2, 3, 4, 6, 0, 0, 0, 0 } } },
      record_and_fill = { params_differ = 0, params_moved = 0, values = { scale = { 2, 3, 4, 1, 0, 0, 0, 0 } } },
    }
  end,
}

-- DeepGEMM's scales: one f32 for a block of 128 x 128 becomes a byte for each of its rows, four blocks in a word: 64 times as many bytes here, and
-- strided. Beside them weights that are requantised where they lie.
local models = require "models.qwen3"

local deepgemm = cs.scenario {
  name = "drivers.direct_larger_result.deepgemm",
  tags = { "R6" },
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 512, intermediate = 512, fp8 = true },
  method = "fp8_block", backend = "deepgemm", tp = 2,
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    for _, checkpoint in ipairs { "B", "A", "A" } do
      s:reload { driver = "direct", checkpoint = checkpoint }
      s:expect(cs.equal())
    end
  end,
}

return { toy, deepgemm }
