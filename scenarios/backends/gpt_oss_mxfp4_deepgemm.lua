return require "models.lib.there_and_back" { method = "gpt_oss_mxfp4", backend = "deepgemm", held = 4, hidden = 224, intermediate = 96, policies = { "record_and_fill" } }
