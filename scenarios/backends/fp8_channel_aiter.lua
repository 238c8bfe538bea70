return require "models.lib.there_and_back" { method = "fp8_channel", backend = "aiter", held = 2 }
