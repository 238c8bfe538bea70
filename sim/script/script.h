/* Lua 5.4 scenarios: a file returns one scenario, a plain description that outlives the Lua state.
 *
 * The sandbox has no files, no clocks, no randomness (`pairs` goes by key) and no coroutines; `require "models.gpt_oss"`
 * finds models/gpt_oss.lua beside the scenario or in a parent folder up to the one named scenarios. Limits:
 * CS_SCRIPT_INSTRUCTIONS, CS_SCRIPT_BYTES. */
#ifndef CS_SCRIPT_H
#define CS_SCRIPT_H

#include "sim/session/session.h"

#define CS_SCRIPT_INSTRUCTIONS 50000000 /* Lua VM instructions of one file */
#define CS_SCRIPT_BYTES (64 << 20)      /* memory of one Lua state */

/* Runs the file; the scenario and all its strings live in `arena`. CS_BAD_SCRIPT with "file:line: argument: found,
 * expected"; CS_BAD_FILE when it cannot be read. Does cs_scenario_check too. */
enum cs_status cs_script_load(const char *path, struct cs_arena *arena, struct cs_scenario *scenario);

#endif
