return require "models.lib.there_and_back" { method = "quark_fp8_channel", backend = "triton", held = 2 }
