return require "models.lib.there_and_back" { method = "gptq", backend = "marlin", held = 2 }
