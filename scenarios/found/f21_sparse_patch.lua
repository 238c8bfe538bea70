-- F21: sparse patches, written by loaders into live tensors, NaN where nothing changed. The loader that takes whole blocks fills its part first, and no mask
-- covers that: where one scale of gate was to change, all others of gate become 1, on the rank that has it and on the other. And a number
-- that is assigned by index passes by the mask: a patch without a change writes NaN. Silent.
local models, fault = require "models.qwen3", require "models.lib.fault"

local experts = "model.layers.0.mlp.experts.1."

local function scenarios(name, fields)
  fields.name = "found.f21." .. name
  fields.tags = { "found", "F21", "P6" }
  return table.unpack(fault.pair(fields))
end

local filled, masked = scenarios("block_aligned", {
  fault = "block_loader_fills",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 256, intermediate = 384, fp8 = true },
  method = "fp8_block", backend = "aiter", tp = 2, -- 192 rows of a rank, of blocks of 128: the last rank has half of its share
  checkpoints = { A = cs.synthetic(), B = cs.patched("A", experts .. "gate_proj.weight_scale_inv", { 0, 1 }, 3) },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "raw", checkpoint = "B", patch = true }
    s:expect { params_differ = is_on and 2 or 0 } -- w13_weight_scale_inv of both ranks
  end,
})

local written, kept = scenarios("empty_patch_of_a_number", {
  standing = "patch_writes_numbers",
  model = models.qwen3_30b_a3b { layers = 1, experts = 2, hidden = 64, intermediate = 64 },
  method = "fp8_tensor", backend = cs.backend { name = "as_loaded", steps = {} },
  checkpoints = { A = cs.synthetic(), B = cs.patched("A", experts .. "up_proj.weight_scale", 0, 3) },
  run = function(s, is_on)
    s:cold_start "A"
    s:reload { driver = "raw", checkpoint = "B", patch = true }
    s:expect { params_differ = 0 } -- a number that changed arrives
    s:reload { driver = "raw", checkpoint = "B", patch = true, only = { "*_proj.weight_scale" } }
    s:expect { params_differ = is_on and 2 or 0 } -- the same checkpoint once more: w13's and w2's
  end,
})

return { filled, masked, written, kept }
