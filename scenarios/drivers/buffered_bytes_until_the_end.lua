-- MXFP4 counts its padding too, so that no padded layer is ever full: every expert tensor is held until the end (R4.13), and the last
-- norm for as long as its own module takes. In a bucket of its own memory a tensor holds the whole bucket.
local models = require "models.gpt_oss"
local options = cs.declare { layers = { 3, "layers of the model" } }

local blocks = 192 * 7 * 16 + 224 * 3 * 16 -- of one expert, in bytes: gate and up, down
local scales = 192 * 7 + 224 * 3
local biases = (192 + 224) * 2
local norm = 224 * 2

return cs.scenario {
  name = "drivers.buffered_bytes.until_the_end",
  tags = { "small", "R4.13" },
  model = models.gpt_oss_20b { layers = options.layers, experts = 4, hidden = 224, intermediate = 96 },
  method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm",
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { params_differ = 0, buffered_bytes = options.layers * 4 * (blocks + scales + biases) + norm }
  end,
}
