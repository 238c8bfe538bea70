/* Lua 5.4 scenarios: a file returns a scenario or a list of them, plain descriptions that outlive the Lua state.
 *
 * The sandbox has no files, no clocks, no randomness (`pairs` goes by key) and no coroutines; `require
 * "models.gpt_oss"` finds models/gpt_oss.lua beside the scenario or in a parent folder up to the one named scenarios.
 * Limits: CS_SCRIPT_INSTRUCTIONS, CS_SCRIPT_BYTES. */
#ifndef CS_SCRIPT_H
#define CS_SCRIPT_H

#include <stdio.h>

#include "sim/session/session.h"

#define CS_SCRIPT_INSTRUCTIONS 50000000   /* Lua VM instructions of one file */
#define CS_SCRIPT_BYTES        (64 << 20) /* memory of one Lua state */

enum { CS_SCENARIO_NAME = 128 }; /* longest name of a scenario */

/* Runs the file; the scenario and all its strings live in `arena`. CS_BAD_SCRIPT with "file:line: argument: found,
 * expected"; CS_BAD_FILE when it cannot be read. Does cs_scenario_check too. */
enum cs_status cs_script_load(const char *path, struct cs_arena *arena, struct cs_scenario *scenario);

/* The same of a script in memory; messages call it `name`. */
enum cs_status cs_script_load_text(const char *name, const char *text, struct cs_arena *arena,
                                   struct cs_scenario *scenario);

/* A value for an option that the file declares: --set NAME=VALUE. */
struct cs_setting {
    const char *name, *value;
};
/* The same, with these values; they must live as long as `arena`. CS_BAD_USAGE when the file does not declare one of
 * them, or wants another type or range. */
enum cs_status cs_script_load_set(const char *path, const struct cs_setting *settings, size_t n_settings,
                                  struct cs_arena *arena, struct cs_scenario *scenario);

/* All scenarios of a file: it returns one, or a list of some that have different names. */
struct cs_script_list {
    size_t n;
    struct cs_scenario *items;
};
/* As cs_script_load_set, which takes the first. */
enum cs_status cs_script_load_all(const char *path, const struct cs_setting *settings, size_t n_settings,
                                  struct cs_arena *arena, struct cs_script_list *list);

/* A model as a function of models/ gives it when it is given no options. */
struct cs_listed_model {
    const char *function; /* "qwen3_30b_a3b" */
    const struct cs_model_config *model;
};
/* The models of a file such as models/qwen3.lua, by name. CS_BAD_SCRIPT when one of its functions gives something else. */
enum cs_status cs_script_models(const char *path, struct cs_arena *arena, struct cs_listed_model **models, size_t *n);

/* "an integer from 1 to 128", in `buffer`. */
const char *cs_declared_type(const struct cs_declared *option, char *buffer, size_t size);

/* ---- the language, as the tables that read it describe it ---- */

/* Annotations for the Lua language server: scenarios/library/cs.lua. */
void cs_language_stubs(FILE *out);
/* The tables of scenarios/README.md, each after a line "<!-- NAME -->". */
void cs_language_reference(FILE *out);
/* What a person wants to know of "cs.reload"; NULL: all functions, a line each. CS_BAD_USAGE when there is no such
 * function. */
enum cs_status cs_language_help(FILE *out, const char *function);

#endif
