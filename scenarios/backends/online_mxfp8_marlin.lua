return require "models.lib.there_and_back" { method = "online_mxfp8", backend = "marlin", held = 2 }
