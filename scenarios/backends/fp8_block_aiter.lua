return require "models.lib.there_and_back" { method = "fp8_block", backend = "aiter", held = 2 }
