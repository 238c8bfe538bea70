return require "models.lib.there_and_back" { method = "quark_fp8_block", backend = "aiter", held = 2 }
