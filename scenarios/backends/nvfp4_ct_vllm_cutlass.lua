return require "models.lib.there_and_back" { method = "nvfp4_ct", backend = "vllm_cutlass", held = 4, owned = 2 }
