/* Which scenarios a command line names, and what it changes in them. Inside sim/cli only. */
#ifndef CS_CLI_INTERNAL_H
#define CS_CLI_INTERNAL_H

#include "sim/session/session.h"

struct cs_paths {
    size_t n, capacity;
    const char **items;
};

/* Scripts that `word` names: a file itself, or every *.lua below a folder, sorted by path. Folders named models hold what
 * scenarios require and are left out, as are hidden files; links to folders are not followed. Appends to `paths`. */
enum cs_status cs_find_scripts(const char *word, struct cs_arena *arena, struct cs_paths *paths);

struct cs_scenarios {
    size_t n, capacity;
    struct cs_scenario *items;
};

/* Loads every script and keeps the scenarios whose name contains `filter` (NULL: all). Stops at the first bad script. */
enum cs_status cs_load_scenarios(const struct cs_paths *paths, const char *filter, struct cs_arena *arena,
                                 struct cs_scenarios *scenarios);

/* "A=DIR": checkpoint A of every scenario that has one is what lies at DIR now. CS_BAD_USAGE when none has it. */
enum cs_status cs_override_checkpoint(struct cs_scenarios *scenarios, const char *text, struct cs_arena *arena);

#endif
