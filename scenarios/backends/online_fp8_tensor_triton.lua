return require "models.lib.there_and_back" { method = "online_fp8_tensor", backend = "triton", held = 2 }
