return require "models.lib.there_and_back" { method = "mxfp4", backend = "flashinfer_cutlass_mxfp8", held = 2, owned = 1, hidden = 224, intermediate = 96, policies = { "record_and_fill" } }
