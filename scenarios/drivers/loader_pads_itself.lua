-- A loader that writes its own padding past the routed path (R4.11): it narrows nothing that anyone hears of, and zeroes the rest by
-- itself. The parameter counts what is loaded, so a plan can be baked; then nobody zeroes, and there is no record to replay.
local function load(values) return { { param = "p", at = 0, shape = 5, values = values, zeros = { { at = 5, shape = 3 } } } } end

return cs.scenario {
  name = "drivers.loader_pads_itself",
  tags = { "toy", "R4.11" },
  model = cs.toy {
    params = { { name = "p", shape = 8, dtype = "u8", created = "zeros", weight_loader_numel = 5 } },
    loads = { A = load { 1, 2, 3, 4, 5 }, B = load { 6, 7, 8, 9, 10 } },
    post_load = {},
  },
  policies = { "none", "record_and_fill" },
  allocator = { fresh = "0xAA", recycle_up_to = 0 },
  run = function(s)
    s:cold_start "A"
    for _, driver in ipairs { "layerwise", "direct" } do
      s:reload { driver = driver, checkpoint = "B" }
      s:expect { params_differ = 0, values = { p = { 6, 7, 8, 9, 10, 0, 0, 0 } } }
    end
    s:reload { driver = "load_plan", checkpoint = "A", replay_records = true }
    s:expect { params_differ = 1, values = { p = { 1, 2, 3, 4, 5, 0xAA, 0xAA, 0xAA } } }
  end,
}
