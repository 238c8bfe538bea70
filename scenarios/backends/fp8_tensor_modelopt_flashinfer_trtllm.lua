return require "models.lib.there_and_back" { method = "fp8_tensor_modelopt", backend = "flashinfer_trtllm", held = 4, owned = 3, drivers = { "direct" } }
