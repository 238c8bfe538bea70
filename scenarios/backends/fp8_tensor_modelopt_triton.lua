return require "models.lib.there_and_back" { method = "fp8_tensor_modelopt", backend = "triton", held = 4, drivers = { "direct" } }
