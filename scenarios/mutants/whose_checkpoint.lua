-- A reload reads the checkpoint that it is told to (X), a weight cache the one whose bytes it is asked for (C, found: F22).
local models = require "models.gpt_oss"
local model = models.gpt_oss_20b { layers = 1, experts = 2, hidden = 64, intermediate = 64 }

return {
  cs.scenario {
    name = "mutants.whose_checkpoint.reload",
    tags = { "small", "X" },
    kills = { "cached_checkpoint" },
    model = model, method = "gpt_oss_mxfp4", backend = "emulation",
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "direct", checkpoint = "B" }
      s:expect { params_differ = 0 }
    end,
  },
  cs.scenario {
    name = "mutants.whose_checkpoint.weight_cache",
    tags = { "small", "C", "F22" },
    kills = { "cache_key_of_headers" },
    model = model, method = "gpt_oss_mxfp4", backend = "emulation",
    checkpoints = { A = cs.synthetic(), B = cs.perturbed "A" },
    run = function(s)
      s:cold_start { driver = "meta_build", checkpoint = "B" }
      s:expect { params_differ = 0 }
    end,
  },
}
