-- One plan with a fault on and off: two scenarios, NAME.on and NAME.off; the second is there to kill the mutant that is the fault.
--
--   return fault.pair { name = …, fault = "a defect", model = …, run = function(s, is_on) … end }
--
-- `fault` is off in the released engine, `standing` on; a list of standing ones is switched off together.
local fault = {}

local function scenario_of(fields, is_on)
  local scenario = {}
  for key, value in pairs(fields) do scenario[key] = value end
  local standing = type(fields.standing) == "string" and { fields.standing } or fields.standing
  scenario.fault, scenario.standing = nil, nil
  scenario.name = fields.name .. (is_on and ".on" or ".off")
  if is_on then
    scenario.defects = fields.fault and { fields.fault } or {}
  else
    scenario.fixes = standing or {}
    scenario.kills = standing or { fields.fault }
  end
  scenario.run = function(s) fields.run(s, is_on) end
  return cs.scenario(scenario)
end

function fault.pair(fields)
  return { scenario_of(fields, true), scenario_of(fields, false) }
end

-- The same plan by two drivers: NAME.on by the one that goes wrong, NAME.off by the one that does not.
function fault.drivers(fields)
  local function one(driver, is_on)
    local scenario = {}
    for key, value in pairs(fields) do scenario[key] = value end
    scenario.wrong, scenario.right = nil, nil
    scenario.name = fields.name .. (is_on and ".on" or ".off")
    scenario.run = function(s) fields.run(s, is_on, driver) end
    return cs.scenario(scenario)
  end
  return { one(fields.wrong, true), one(fields.right, false) }
end

return fault
