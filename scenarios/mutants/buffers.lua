-- Buffers that no checkpoint has keep what they hold, persistent or not: a reload, and a sleep before it, leave them alone (R1, W).
local model = cs.model {
  name = "router_with_buffers", layers = 1, hidden = 8,
  modules = {
    cs.module {
      name = "router",
      tensors = {
        { name = "weight", shape = "H", dtype = "f32", created = "empty" },
        { name = "root_size", shape = 1, dtype = "f32", created = "value", value = 0.125, kind = "buffer" },
        { name = "scale", shape = 2, dtype = "f32", created = "value", value = 3, kind = "persistent_buffer" },
        { name = "_expert_map", shape = 4, dtype = "i32", created = "arange", kind = "buffer" },
      },
    },
  },
}

local function scenario(name, kills, before)
  return cs.scenario {
    name = "mutants.buffers." .. name,
    tags = { "small", "R1" },
    fixes = { "persistent_buffers_overwritten" },
    kills = kills,
    model = model,
    run = function(s)
      s:cold_start "A"
      before(s)
      s:reload { driver = "layerwise", checkpoint = "B" }
      s:expect(cs.equal())
    end,
  }
end

return {
  scenario("reload", { "buffers_overwritten", "persistent_buffers_overwritten" }, function() end),
  scenario("sleep", { "wake_forgets_buffers" }, function(s)
    s:sleep(2)
    s:wake()
  end),
}
