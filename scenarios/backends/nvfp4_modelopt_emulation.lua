return require "models.lib.there_and_back" { method = "nvfp4_modelopt", backend = "emulation", held = 6 }
