return require "models.lib.there_and_back" { method = "quark_mx", backend = "aiter_bf16", held = 2, hidden = 256, intermediate = 224, policies = { "record_and_fill" } }
