-- vllm#42821, skyrl#1680 (L1): post-load swaps w1 and w3; a second raw load writes [w1; w3] where the kernel reads [w3; w1]. Silent.
local fault = require "models.lib.fault"
local function load(value)
  return { { param = "w13", shape = 2, at = 0, value = value }, { param = "w13", shape = 2, at = 2, value = value + 1 } }
end

return fault.drivers {
  name = "bugs.b48.second_raw_load",
  tags = { "bugs", "toy", "L1" },
  wrong = "raw", right = "direct",
  model = cs.toy {
    params = { { name = "w13", shape = 4, dtype = "bf16", created = "empty" } },
    loads = { A = load(1), B = load(3) },
    post_load = { cs.relayout("w13", "swap_halves"), cs.replace "w13" },
  },
  run = function(s, is_on, driver)
    s:cold_start "A"
    s:reload { driver = driver, checkpoint = "B" }
    s:expect { params_differ = is_on and 1 or 0, values = { w13 = is_on and { 3, 3, 4, 4 } or { 4, 4, 3, 3 } } }
  end,
}
