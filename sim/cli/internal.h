/* Which scenarios a command line names, and what it changes in them. Inside sim/cli only. */
#ifndef CS_CLI_INTERNAL_H
#define CS_CLI_INTERNAL_H

#include "sim/cli/cli.h"
#include <sys/types.h>

#include "sim/script/script.h"

struct cs_path {
    const char *text;
    bool is_named; /* on the command line itself, not found below a folder */
    dev_t device;  /* which file it is, however it was named */
    ino_t inode;
};

struct cs_paths {
    size_t n, capacity;
    struct cs_path *items;
};

/* Scripts that `word` names: a file itself, or every *.lua below a folder, sorted by path. Folders named models hold
 * what scenarios require, those named library what editors read: both are left out, as are hidden files; links to
 * folders are not followed. Appends to `paths`; a file that is there already stays once, and stderr says so. */
enum cs_status cs_find_scripts(const char *word, struct cs_arena *arena, struct cs_paths *paths);

/* Scenarios with this tag take minutes: a folder leaves them out unless the tag is asked for. */
#define CS_FULL_TAG "full"

/* Which scenarios a run wants: all conditions hold. */
struct cs_selection {
    const char *filter; /* their names contain it; NULL: any name */
    size_t n_tags;
    const char **tags; /* they have every one */
};

struct cs_scenarios {
    size_t n, capacity;
    struct cs_scenario *items;
    size_t n_left_out; /* tagged full, and otherwise wanted */
    size_t n_tags, tags_capacity;
    const char **tags; /* of every script that was read, each once */
};

/* What --set gave. */
struct cs_settings {
    size_t n;
    struct cs_setting *items;
};
/* CS_BAD_USAGE when one is no NAME=VALUE, or comes twice. */
enum cs_status cs_read_settings(const struct cs_options *options, struct cs_arena *arena, struct cs_settings *settings);

/* Loads every script and keeps what is wanted; each of these must declare every setting. Stops at the first bad script.
 */
enum cs_status cs_load_scenarios(const struct cs_paths *paths, const struct cs_selection *selection,
                                 const struct cs_settings *settings, struct cs_arena *arena,
                                 struct cs_scenarios *scenarios);

/* For each `--checkpoint A=DIR`: checkpoint A of every scenario that has one is what lies at DIR now. CS_BAD_USAGE when
 * none has it, or it is given twice; CS_BAD_FILE when nothing is at DIR. */
enum cs_status cs_override_checkpoints(struct cs_scenarios *scenarios, const struct cs_options *options,
                                       struct cs_arena *arena);

#endif
