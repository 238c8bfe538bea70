return require "models.lib.there_and_back" { method = "gpt_oss_mxfp4", backend = "aiter_bf16", held = 4, hidden = 256, intermediate = 224, policies = { "record_and_fill" } }
