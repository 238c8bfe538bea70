return require "models.lib.there_and_back" { method = "quark_fp8_tensor", backend = "triton", held = 2 }
