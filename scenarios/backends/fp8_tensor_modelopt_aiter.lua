return require "models.lib.there_and_back" { method = "fp8_tensor_modelopt", backend = "aiter", held = 4, drivers = { "direct" } }
