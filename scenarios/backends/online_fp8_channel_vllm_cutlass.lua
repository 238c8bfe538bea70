return require "models.lib.there_and_back" { method = "online_fp8_channel", backend = "vllm_cutlass", held = 2, owned = 3 }
