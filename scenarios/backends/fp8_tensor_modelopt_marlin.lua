return require "models.lib.there_and_back" { method = "fp8_tensor_modelopt", backend = "marlin", held = 2, drivers = { "direct" } }
