return require "models.lib.there_and_back" { method = "fp8_block", backend = "deepgemm", held = 2 }
