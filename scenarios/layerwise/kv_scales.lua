-- KV-cache scales are optional in checkpoints. A reload processes attention last, and only when scales were sent: after a checkpoint with
-- k = v ≈ 0.5 one without leaves them as they are, on the device and in the numbers that launches were captured with, where a cold
-- start has 1 (F8). Direct reload is no better: a module that receives nothing is left alone.
local weight = { { name = "weight", shape = "H", dtype = "bf16", created = "ones" } }

return cs.scenario {
  name = "layerwise.kv_scales",
  tags = { "small", "F8" },
  model = cs.model {
    name = "attention", layers = 1, hidden = 64,
    modules = { cs.module { name = "attn", attention = true }, cs.module { name = "norm", tensors = weight } },
  },
  policies = { "none", "record_and_fill" },
  checkpoints = { A = cs.synthetic(), B = cs.perturbed "A", C = cs.without_optional() },
  run = function(s)
    s:cold_start "A"
    for _, driver in ipairs { "layerwise", "direct" } do
      s:reload { driver = driver, checkpoint = "B" }
      s:expect(cs.equal())
      s:reload { driver = driver, checkpoint = "C" }
      s:expect { params_differ = 2, side_differ = 2, graph_differ = 4, missing = 0, excess = 0 }
      s:reload { driver = driver, checkpoint = "A" }
      s:expect(cs.equal())
    end
  end,
}
