return require "models.lib.there_and_back" { method = "quark_mx", backend = "deepgemm", held = 2, hidden = 224, intermediate = 96, policies = { "record_and_fill" } }
