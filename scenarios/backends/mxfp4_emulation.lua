return require "models.lib.there_and_back" { method = "mxfp4", backend = "emulation", held = 2 }
