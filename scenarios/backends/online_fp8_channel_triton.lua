return require "models.lib.there_and_back" { method = "online_fp8_channel", backend = "triton", held = 2 }
