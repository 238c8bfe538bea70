return require "models.lib.there_and_back" { method = "nvfp4_ct", backend = "cutedsl_batched", held = 4, owned = 2 }
