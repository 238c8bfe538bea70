return require "models.lib.there_and_back" { method = "fp8_tensor_ct", backend = "marlin", held = 2 }
