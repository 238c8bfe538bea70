return require "models.lib.there_and_back" { method = "online_mxfp8", backend = "flashinfer_trtllm", held = 2 }
