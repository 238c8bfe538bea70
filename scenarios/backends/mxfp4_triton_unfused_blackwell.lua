return require "models.lib.there_and_back" { method = "mxfp4", backend = "triton_unfused_blackwell", held = 4, hidden = 256, intermediate = 224, policies = { "record_and_fill" } }
