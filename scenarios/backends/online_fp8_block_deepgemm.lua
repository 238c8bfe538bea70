return require "models.lib.there_and_back" { method = "online_fp8_block", backend = "deepgemm", held = 2, hidden = 224, intermediate = 96 }
