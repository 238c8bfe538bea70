return require "models.lib.there_and_back" { method = "nvfp4_modelopt", backend = "flashinfer_b12x", held = 4, owned = 2 }
