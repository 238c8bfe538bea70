-- A back end of one's own that rounds rows up in post-load: gate and up each on its own, as gated kernels want them, or both together, which
-- puts up where the kernel looks for the rest of gate (vllm#48624). Both are the same after a reload as after a cold start: only the bytes tell.
local function load(first)
  return { { param = "w13", at = { 0, 0 }, shape = { 1, 4 }, values = { first, first + 1, first + 2, first + 3 } } }
end

local function scenario(parts, a, b)
  return cs.scenario {
    name = "own.padded_" .. parts,
    tags = { "toy", "P8" },
    model = cs.toy {
      params = { { name = "w13", shape = { 1, 4 }, dtype = "bf16", created = "empty" } },
      loads = { A = load(1), B = load(5) },
      post_load = { cs.pad("w13", parts == "halves" and 4 or 8, 1, 0, parts), cs.replace "w13" },
    },
    policies = { "none", "record_and_fill" },
    run = function(s)
      s:cold_start "A"
      s:expect { values = { w13 = a } }
      for _, driver in ipairs { "layerwise", "direct" } do
        s:reload { driver = driver, checkpoint = "B" }
        s:expect { params_differ = 0, values = { w13 = b } }
        s:reload { driver = driver, checkpoint = "A" }
        s:expect { params_differ = 0, values = { w13 = a } }
      end
    end,
  }
end

return {
  scenario("halves", { 1, 2, 0, 0, 3, 4, 0, 0 }, { 5, 6, 0, 0, 7, 8, 0, 0 }),
  scenario("whole", { 1, 2, 3, 4, 0, 0, 0, 0 }, { 5, 6, 7, 8, 0, 0, 0, 0 }),
}
