-- Buffers that no checkpoint has (F7). A layerwise reload rematerialises the whole module that received anything: a persistent buffer is
-- copied back as memory was, one that is not persistent is left alone. Direct reload touches neither.
local function module(name, kind)
  return cs.module {
    name = name,
    tensors = {
      { name = "weight", shape = "H", dtype = "bf16", created = "ones" },
      { name = "table", shape = 16, dtype = "f32", created = "arange", kind = kind },
    },
  }
end

return cs.scenario {
  name = "layerwise.unloaded_buffers",
  tags = { "small", "F7" },
  model = cs.model {
    name = "norms", layers = 1, experts = 1, hidden = 64, intermediate = 64,
    modules = { module("first", "persistent_buffer"), module("second", "buffer") },
  },
  policies = { "none", "record_and_fill" },
  run = function(s)
    s:cold_start "A"
    s:reload { driver = "direct", checkpoint = "B" }
    s:expect(cs.equal())
    s:reload { driver = "layerwise", checkpoint = "A", only = { "second.weight" } }
    s:expect { params_differ = 1, graph_differ = 1 } -- first.weight was not sent, and is B's still
    s:reload { driver = "layerwise", checkpoint = "A" }
    s:expect { params_differ = 1, graph_differ = 1 } -- first.table
    s:sleep(2)
    s:wake()
    s:reload { driver = "direct", checkpoint = "B" } -- a sleeping server keeps its buffers as they are: wrong here
    s:expect { params_differ = 1, graph_differ = 1 }
  end,
}
