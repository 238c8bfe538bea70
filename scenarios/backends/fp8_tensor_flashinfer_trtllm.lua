return require "models.lib.there_and_back" { method = "fp8_tensor", backend = "flashinfer_trtllm", held = 4, owned = 3, quantization = { static_input = true }, drivers = { "direct" } }
