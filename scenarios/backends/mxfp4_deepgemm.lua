return require "models.lib.there_and_back" { method = "mxfp4", backend = "deepgemm", held = 2, hidden = 224, intermediate = 96, policies = { "record_and_fill" } }
