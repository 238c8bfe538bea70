return require "models.lib.there_and_back" { method = "online_mxfp4", backend = "flashinfer_cutlass", held = 2, hidden = 224, intermediate = 96 }
