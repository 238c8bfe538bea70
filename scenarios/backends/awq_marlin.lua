return require "models.lib.there_and_back" { method = "awq", backend = "marlin", held = 4 }
