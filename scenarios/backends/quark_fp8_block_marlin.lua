return require "models.lib.there_and_back" { method = "quark_fp8_block", backend = "marlin", held = 2 }
