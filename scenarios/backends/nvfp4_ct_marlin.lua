return require "models.lib.there_and_back" { method = "nvfp4_ct", backend = "marlin", held = 4 }
