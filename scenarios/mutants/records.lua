-- Whose records a fill writes: those of the load that it ends.
-- A load that marks what it does not write: rows from `n` on.
local function rows(n, value)
  return { { param = "p", at = { 0, 0 }, shape = { n, 2 }, value = value, marks = { { at = { n, 0 }, shape = { 4 - n, 2 } } } } }
end

-- The same with columns: `n` rows of the first one.
local function column(n, value)
  return { { param = "p", at = { 0, 0, 0 }, shape = { 1, n, 1 }, value = value, marks = { { at = { 0, 0, 1 }, shape = { 1, n, 1 } } } } }
end

return {
  -- The dry run of an aborted load narrows on the meta device. Had it recorded, two real rows of the next load would be filled.
  cs.scenario {
    name = "mutants.records.aborted_dry_run",
    tags = { "toy", "R2.5" },
    fixes = { "pending_calls_survive" },
    kills = { "meta_marked" },
    model = cs.toy {
      params = {
        { name = "p", shape = { 4, 2 }, dtype = "f32", created = "zeros" },
        { name = "q", shape = 4, dtype = "f32", created = "zeros" },
      },
      loads = {
        A = { rows(3, 1)[1], { param = "q", shape = 4, value = 1 } },
        B = { rows(1, 2)[1], { param = "q", shape = 4, value = 2 } },
        C = { rows(3, 3)[1], { param = "q", shape = 4, value = 3 } },
      },
    },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "layerwise", checkpoint = "B", stop_after = 1 }
      s:reload { driver = "layerwise", checkpoint = "C" }
      s:expect { params_differ = 0, values = { p = { 3, 3, 3, 3, 3, 3, 0, 0 } } }
    end,
  },
  -- A raw load runs no post-load and so no fill: its records, in kernel layout, wait for the next load. They no longer match the
  -- parameter then, and nothing is filled: the count says so.
  cs.scenario {
    name = "mutants.records.of_a_raw_load",
    tags = { "toy", "R2.4" },
    kills = { "layout_unchecked" },
    model = cs.toy {
      params = { { name = "p", shape = { 1, 4, 2 }, dtype = "f32", created = "zeros" } },
      loads = { A = column(4, 1), B = column(1, 2), C = column(4, 3) },
      post_load = { cs.relayout("p", "transpose"), cs.replace "p" },
    },
    run = function(s)
      s:cold_start "A"
      s:reload { driver = "raw", checkpoint = "B" }
      s:reload { driver = "layerwise", checkpoint = "C" }
      s:expect { params_differ = 1, fill_skipped = 1, fill_regions = 0 }
    end,
  },
}
