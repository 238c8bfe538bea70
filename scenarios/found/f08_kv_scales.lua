-- F8: KV scales that the second checkpoint does not have keep the first one's values, on the device as in the Python float; a cold start
-- gives 1. The release puts the old scale back when nothing was loaded for it; created anew, it would be 1 again.
local function load(value) return { { param = "qkv", shape = 4, value = value } } end

local function toy(k_scale)
  return cs.toy {
    params = {
      { name = "qkv", shape = 4, dtype = "f32", created = "empty" },
      { name = "k_scale", shape = 1, dtype = "f32", created = "ones" },
    },
    loads = { A = { load(1)[1], { param = "k_scale", shape = 1, value = 2 } }, B = k_scale },
  }
end

-- The server is judged by its own third state: k_scale is 2 after A, and B, which has none, does not touch it by a raw load.
return cs.scenario {
  name = "found.f08.kv_scales",
  tags = { "found", "F8", "R6" },
  model = toy(load(3)),
  run = function(s)
    s:cold_start "A"
    s:expect { params_differ = 0, values = { k_scale = { 2 } } }
    s:reload { driver = "raw", checkpoint = "B" }
    s:expect { params_differ = 1, values = { k_scale = { 2 }, qkv = { 3, 3, 3, 3 } } }
    -- told in full, both are right
    s:reload { driver = "raw", checkpoint = "A" }
    s:expect { params_differ = 0, values = { k_scale = { 2 } } }
  end,
}
