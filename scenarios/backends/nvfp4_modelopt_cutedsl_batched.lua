return require "models.lib.there_and_back" { method = "nvfp4_modelopt", backend = "cutedsl_batched", held = 4, owned = 2 }
