return require "models.lib.there_and_back" { method = "online_mxfp4", backend = "flashinfer_cutlass_mxfp8", held = 2, owned = 1, hidden = 224, intermediate = 96 }
