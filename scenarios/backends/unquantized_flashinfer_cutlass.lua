return require "models.lib.there_and_back" { method = "unquantized", backend = "flashinfer_cutlass" }
