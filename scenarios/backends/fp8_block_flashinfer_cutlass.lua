return require "models.lib.there_and_back" { method = "fp8_block", backend = "flashinfer_cutlass", held = 2 }
