-- A back end that no engine has: FP8 weights in tiles of 16 × 64, with f32 scales of 32 columns each, and kernels that multiply
-- by the reciprocal of a scale. It rounds sizes up to 128, and its padding of scales must stay 1: zeros would become 1/0.
local models = require "models.qwen3"

local tiles = cs.layout { name = "tiles", view = "M/16 16 K/64 64", order = "0 2 1 3" }

local tensors, params, steps = {}, {}, {}
local function checkpoint(name, rows, columns, w, shard, split)
  local function add(part, columns, dtype)
    tensors[#tensors + 1] = { tensor = "{expert}." .. name .. "." .. part, shape = { rows, columns }, dtype = dtype,
                              param = w .. "_" .. part, shard = shard, split = split }
  end
  add("weight", columns, "e4m3"); add("scale", columns .. "/32", "f32")
end
local function parameter(w, rows, columns)
  local weight, scale = w .. "_weight", w .. "_scale"
  params[#params + 1] = { name = weight, shape = { "E", rows, columns }, dtype = "e4m3", created = "zeros" }
  params[#params + 1] = { name = scale, shape = { "E", rows, columns .. "/32" }, dtype = "f32", created = "ones", scale = true }
  table.move({ cs.relayout(weight, tiles), cs.replace(weight), cs.map(scale, "f32", scale .. " into 1"), cs.replace(scale) },
             1, 4, #steps + 1, steps)
end
checkpoint("gate_proj", "If", "Hu", "w13", "gate"); checkpoint("up_proj", "If", "Hu", "w13", "up")
checkpoint("down_proj", "Hu", "If", "w2", "whole", "columns")
parameter("w13", "S*I", "H"); parameter("w2", "H", "I")

return cs.scenario {
  name = "own.tiled_fp8",
  model = models.qwen3_30b_a3b { layers = 2, experts = 4, hidden = 192, intermediate = 96 },
  method = cs.method { name = "tiled_fp8", params = params, loaders = { cs.loader { name = "tiled", tensors = tensors } },
                       rounds = { intermediate = 128, hidden = 128 }, steps = steps },
  policies = { "none", "zero_materialized", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    -- Of each layer: two weights and two scales; the scales alone; nothing.
    s:expect { none = { params_differ = 8 }, zero_materialized = { params_differ = 4 }, record_and_fill = cs.equal() }
  end,
}
