return require "models.lib.there_and_back" { method = "mxfp4_ct", backend = "marlin", held = 2 }
