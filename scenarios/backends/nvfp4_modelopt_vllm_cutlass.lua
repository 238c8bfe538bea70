return require "models.lib.there_and_back" { method = "nvfp4_modelopt", backend = "vllm_cutlass", held = 4, owned = 2 }
