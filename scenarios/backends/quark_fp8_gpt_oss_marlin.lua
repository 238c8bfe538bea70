return require "models.lib.there_and_back" { method = "quark_fp8_gpt_oss", backend = "marlin", held = 4, drivers = { "direct" } }
