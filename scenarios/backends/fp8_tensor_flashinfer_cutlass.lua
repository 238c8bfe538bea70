return require "models.lib.there_and_back" { method = "fp8_tensor", backend = "flashinfer_cutlass", held = 6, owned = 2, quantization = { static_input = true }, drivers = { "direct" } }
