return require "models.lib.there_and_back" { method = "ct_wna16", backend = "flashinfer_trtllm", held = 2, quantization = { group = 32 } }
