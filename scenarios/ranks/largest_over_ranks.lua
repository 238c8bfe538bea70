-- Online FP8 with one scale per tensor, or per row: each rank has a part of the weight, and its scale is that of the whole. Post-load takes the
-- largest value over all ranks; for rows of w13, which every rank has whole, it has no need to. There and back, on two ranks and on four.
local there_and_back = require "models.lib.there_and_back"

local scenarios = {}
for _, row in ipairs {
  { "online_fp8_tensor", "triton" }, { "online_fp8_tensor", "marlin" },
  { "online_fp8_channel", "triton" }, { "online_fp8_channel", "vllm_cutlass", owned = 3 },
} do
  for _, tp in ipairs { 2, 4 } do
    scenarios[#scenarios + 1] = there_and_back {
      name = "ranks.largest_over_ranks." .. row[1] .. "." .. row[2] .. ".tp" .. tp, tags = { "ranks" },
      method = row[1], backend = row[2], held = 2, owned = row.owned, tp = tp,
    }
  end
end
return scenarios
