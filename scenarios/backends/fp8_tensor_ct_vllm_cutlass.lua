return require "models.lib.there_and_back" { method = "fp8_tensor_ct", backend = "vllm_cutlass", held = 2, owned = 3 }
