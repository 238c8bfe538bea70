return require "models.lib.there_and_back" { method = "fp8_tensor_modelopt", backend = "flashinfer_cutlass", held = 6, owned = 2, drivers = { "direct" } }
