return require "models.lib.there_and_back" { method = "quark_fp8_gpt_oss", backend = "aiter", held = 6, drivers = { "direct" } }
