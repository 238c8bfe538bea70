return require "models.lib.there_and_back" { method = "gpt_oss_mxfp4", backend = "flashinfer_trtllm", held = 4, owned = 3, hidden = 224, intermediate = 96, policies = { "record_and_fill" } }
