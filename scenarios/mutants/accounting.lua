-- Every checkpoint tensor is sent once, and some loader consumes it. The last one is a norm: that it is gone, twice there or
-- unknown shows in the accounting, whatever the bytes say.
local model = cs.model {
  name = "two_norms", layers = 1, hidden = 8,
  modules = {
    cs.module { name = "input_norm", tensors = { { name = "weight", shape = "H", dtype = "f32", created = "ones" } } },
    cs.module { name = "output_norm", tensors = { { name = "weight", shape = "H", dtype = "f32", created = "ones" } } },
  },
}

local function scenario(count, mutant)
  return cs.scenario {
    name = "mutants.accounting." .. count,
    tags = { "small", "R8.1" },
    kills = { mutant },
    model = model,
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "direct", checkpoint = "B" }
      s:expect { [count] = 0 }
    end,
  }
end

return { scenario("missing", "tensor_not_sent"), scenario("duplicate", "tensor_sent_twice"), scenario("excess", "name_not_mapped") }
