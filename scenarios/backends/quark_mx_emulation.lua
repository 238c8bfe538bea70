return require "models.lib.there_and_back" { method = "quark_mx", backend = "emulation", held = 2 }
