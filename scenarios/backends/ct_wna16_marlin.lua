return require "models.lib.there_and_back" { method = "ct_wna16", backend = "marlin", held = 2 }
