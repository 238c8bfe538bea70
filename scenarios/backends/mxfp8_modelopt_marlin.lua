return require "models.lib.there_and_back" { method = "mxfp8_modelopt", backend = "marlin", held = 2 }
