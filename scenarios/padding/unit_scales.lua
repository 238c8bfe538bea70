-- Padding of a scale created as ones must hold 1. Policies that only know zeros fail; direct reload over a transform that
-- keeps shape, stride and dtype fails for everyone who does not refill before post-load (R3, R4.10 a).
local toy = cs.toy {
  params = { { name = "scale", shape = 4, dtype = "f32", created = "ones" } },
  loads = {
    A = { { param = "scale", at = 0, shape = 3, values = { 2, 3, 4 }, marks = { { at = 3, shape = 1 } } } },
    B = { { param = "scale", at = 0, shape = 3, values = { 5, 6, 7 }, marks = { { at = 3, shape = 1 } } } },
  },
  post_load = { cs.relayout("scale", "swap_halves"), cs.replace "scale" }, -- [a b c pad] → [c pad a b], in place
}

return cs.scenario {
  name = "padding.unit_scales",
  note = "value-1 padding through a layout-preserving post-load",
  tags = { "toy", "R3", "R4.10" },
  model = toy,
  policies = { "none", "zero_materialized", "zero_in_loader", "record_and_fill" },
  allocator = { fresh = "0x00", recycle_up_to = 0 },
  run = function(s)
    local cured = { params_differ = 0, values = { scale = { 7, 1, 5, 6 } } }
    local zero = { params_differ = 1, values = { scale = { 7, 0, 5, 6 } } }
    s:cold_start "A"
    s:reload { driver = "direct", checkpoint = "B" }
    -- A's kernel bytes were [4 1 2 3]: what stands where B's padding goes is A's 3. The zeroing loader was wrong from its
    -- cold start on, and so is equal to itself: its values show it.
    local zeroed = { params_differ = 0, values = { scale = { 7, 0, 5, 6 } } }
    local stale = { params_differ = 1, values = { scale = { 7, 3, 5, 6 } } }
    s:expect { none = stale, zero_materialized = stale, zero_in_loader = zeroed, record_and_fill = cured }
    s:reload { driver = "layerwise", checkpoint = "B" }
    s:expect { none = zero, zero_materialized = zero, zero_in_loader = zeroed, record_and_fill = cured }
  end,
}
