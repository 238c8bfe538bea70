return require "models.lib.there_and_back" { method = "gpt_oss_mxfp4", backend = "emulation", held = 4 }
