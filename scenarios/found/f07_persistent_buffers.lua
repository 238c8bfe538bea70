-- F7: a persistent buffer that nobody loads, in a module that gets something, is overwritten with garbage; another one is kept. Silent.
local model = cs.model {
  name = "norm_with_buffers", layers = 1, hidden = 8,
  modules = {
    cs.module {
      name = "norm",
      tensors = {
        { name = "weight", shape = "H", dtype = "f32", created = "ones" },
        { name = "scale", shape = 4, dtype = "f32", created = "value", value = 2, kind = "persistent_buffer" },
        { name = "root_size", shape = 4, dtype = "f32", created = "value", value = 2, kind = "buffer" },
      },
    },
  },
}

local function scenario(fault)
  return cs.scenario {
    name = "found.f07.persistent_buffers." .. (fault and "on" or "off"),
    tags = { "found", "F7", "R1" },
    fixes = fault and {} or { "persistent_buffers_overwritten" }, kills = fault and {} or { "persistent_buffers_overwritten" },
    model = model,
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B" }
      s:expect { params_differ = fault and 1 or 0 }
    end,
  }
end

return { scenario(true), scenario(false) }
