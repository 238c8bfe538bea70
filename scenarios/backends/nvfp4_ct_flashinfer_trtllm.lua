return require "models.lib.there_and_back" { method = "nvfp4_ct", backend = "flashinfer_trtllm", held = 5, owned = 2, hidden = 128, intermediate = 48 }
