#include "sim/cli/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

static enum cs_status no_memory(const char *what) { return cs_fail(CS_NO_MEMORY, "no memory for %s", what); }

/* Whether the file is there already; it is then as wanted as both times together. */
static bool is_repeated(struct cs_paths *paths, const char *path, bool is_named, const struct stat *found) {
    for (size_t i = 0; i < paths->n; i++) {
        struct cs_path *earlier = &paths->items[i];
        if (earlier->device != found->st_dev || earlier->inode != found->st_ino) continue;
        fprintf(stderr, "coldstart: %s is named twice (as %s): it runs once\n", path, earlier->text);
        earlier->is_named = earlier->is_named || is_named;
        return true;
    }
    return false;
}

static enum cs_status add_path(struct cs_paths *paths, const char *path, bool is_named, struct cs_arena *arena) {
    struct stat found;
    CS_REQUIRE(stat(path, &found) == 0, CS_BAD_FILE, "cannot read \"%s\": %s", path, strerror(errno));
    if (is_repeated(paths, path, is_named, &found)) return CS_OK;
    void *items = paths->items;
    struct cs_path *slot = cs_arena_grow(arena, &items, paths->n, &paths->capacity, sizeof *slot);
    if (!slot || !path) return no_memory("the list of scripts");
    *slot = (struct cs_path){path, is_named, found.st_dev, found.st_ino};
    paths->items = items;
    paths->n++;
    return CS_OK;
}

static bool is_script(const char *name) {
    size_t length = strlen(name);
    return length > 4 && cs_text_equal(name + length - 4, ".lua");
}

static enum cs_status search_folder(const char *folder, struct cs_arena *arena, struct cs_paths *paths);

static enum cs_status visit(const char *folder, const char *name, struct cs_arena *arena, struct cs_paths *paths) {
    bool has_slash = *folder && folder[strlen(folder) - 1] == '/';
    const char *path = cs_arena_format(arena, "%s%s%s", folder, has_slash ? "" : "/", name);
    struct stat found;
    if (!path) return no_memory("the list of scripts");
    CS_REQUIRE(lstat(path, &found) == 0, CS_BAD_FILE, "cannot read \"%s\": %s", path, strerror(errno));
    bool is_left_out = cs_text_equal(name, "models") || cs_text_equal(name, "library");
    if (S_ISDIR(found.st_mode)) return is_left_out ? CS_OK : search_folder(path, arena, paths);
    return is_script(name) ? add_path(paths, path, false, arena) : CS_OK;
}

static enum cs_status search_folder(const char *folder, struct cs_arena *arena, struct cs_paths *paths) {
    DIR *directory = opendir(folder);
    CS_REQUIRE(directory, CS_BAD_FILE, "cannot read the folder \"%s\": %s", folder, strerror(errno));
    enum cs_status status = CS_OK;
    for (struct dirent *entry; status == CS_OK && (entry = readdir(directory));)
        if (entry->d_name[0] != '.') status = visit(folder, entry->d_name, arena, paths);
    closedir(directory);
    return status;
}

static int by_text(const void *a, const void *b) {
    return strcmp(((const struct cs_path *)a)->text, ((const struct cs_path *)b)->text);
}

enum cs_status cs_find_scripts(const char *word, struct cs_arena *arena, struct cs_paths *paths) {
    struct stat found;
    CS_REQUIRE(stat(word, &found) == 0, CS_BAD_FILE, "cannot read \"%s\": %s", word, strerror(errno));
    if (!S_ISDIR(found.st_mode)) return add_path(paths, word, true, arena);
    size_t before = paths->n;
    CS_TRY(search_folder(word, arena, paths));
    if (paths->n > before) qsort(paths->items + before, paths->n - before, sizeof *paths->items, by_text);
    return CS_OK;
}

/* ---- --set ---- */

static enum cs_status add_setting(struct cs_settings *settings, const char *text, struct cs_arena *arena) {
    const char *equals = strchr(text, '=');
    CS_REQUIRE(equals && equals > text, CS_BAD_USAGE, "--set wants NAME=VALUE, found \"%s\"", text);
    const char *name = cs_arena_format(arena, "%.*s", (int)(equals - text), text);
    if (!name) return no_memory("options");
    for (size_t i = 0; i < settings->n; i++)
        CS_REQUIRE(!cs_text_equal(settings->items[i].name, name), CS_BAD_USAGE,
                   "--set is given twice for one name: \"%s=%s\" and \"%s\"", name, settings->items[i].value, text);
    settings->items[settings->n++] = (struct cs_setting){name, equals + 1};
    return CS_OK;
}

enum cs_status cs_read_settings(const struct cs_options *options, struct cs_arena *arena,
                                struct cs_settings *settings) {
    *settings = (struct cs_settings){.items = CS_NEW_ARRAY(arena, struct cs_setting, options->n_given + 1)};
    if (!settings->items) return no_memory("options");
    for (size_t i = 0; i < options->n_given; i++)
        if (cs_text_equal(options->given[i].option->name, "set"))
            CS_TRY(add_setting(settings, options->given[i].value, arena));
    return CS_OK;
}

/* ---- scenarios ---- */

static bool contains(const char *const *words, size_t n, const char *word) {
    for (size_t i = 0; i < n; i++)
        if (cs_text_equal(words[i], word)) return true;
    return false;
}

static bool has_tag(const struct cs_scenario *scenario, const char *tag) {
    return contains(scenario->tags, scenario->n_tags, tag);
}

static bool is_wanted(const struct cs_selection *selection, const struct cs_scenario *scenario) {
    if (selection->filter && !strstr(scenario->name, selection->filter)) return false;
    for (size_t i = 0; i < selection->n_tags; i++)
        if (!has_tag(scenario, selection->tags[i])) return false;
    return true;
}

static bool is_left_out(const struct cs_selection *selection, const struct cs_path *path,
                        const struct cs_scenario *scenario) {
    return !path->is_named && has_tag(scenario, CS_FULL_TAG) &&
           !contains(selection->tags, selection->n_tags, CS_FULL_TAG);
}

static enum cs_status note_tags(struct cs_scenarios *scenarios, const struct cs_scenario *scenario,
                                struct cs_arena *arena) {
    for (size_t i = 0; i < scenario->n_tags; i++) {
        if (contains(scenarios->tags, scenarios->n_tags, scenario->tags[i])) continue;
        void *items = scenarios->tags;
        const char **slot = cs_arena_grow(arena, &items, scenarios->n_tags, &scenarios->tags_capacity, sizeof *slot);
        if (!slot) return no_memory("tags");
        *slot = scenario->tags[i];
        scenarios->tags = items;
        scenarios->n_tags++;
    }
    return CS_OK;
}

static enum cs_status add_scenario(struct cs_scenarios *scenarios, const struct cs_scenario *scenario,
                                   struct cs_arena *arena) {
    void *items = scenarios->items;
    struct cs_scenario *slot = cs_arena_grow(arena, &items, scenarios->n, &scenarios->capacity, sizeof *slot);
    if (!slot) return no_memory("scenarios");
    *slot = *scenario;
    scenarios->items = items;
    scenarios->n++;
    return CS_OK;
}

/* Scripts are chosen as they are without settings, so that a filter spares those that declare none. */
static enum cs_status add_script(const struct cs_path *path, const struct cs_selection *selection,
                                 const struct cs_settings *settings, struct cs_arena *arena,
                                 struct cs_scenarios *scenarios) {
    struct cs_script_list list, set = {0};
    CS_TRY(cs_script_load_all(path->text, NULL, 0, arena, &list));
    for (size_t i = 0; i < list.n; i++) {
        CS_TRY(note_tags(scenarios, &list.items[i], arena));
        if (!is_wanted(selection, &list.items[i])) continue;
        if (is_left_out(selection, path, &list.items[i])) {
            scenarios->n_left_out++;
            continue;
        }
        if (settings->n && !set.n) CS_TRY(cs_script_load_all(path->text, settings->items, settings->n, arena, &set));
        CS_REQUIRE(!set.n || set.n == list.n, CS_BAD_SCRIPT, "%s: --set changes how many scenarios the file returns",
                   path->text);
        CS_TRY(add_scenario(scenarios, set.n ? &set.items[i] : &list.items[i], arena));
    }
    return CS_OK;
}

enum cs_status cs_load_scenarios(const struct cs_paths *paths, const struct cs_selection *selection,
                                 const struct cs_settings *settings, struct cs_arena *arena,
                                 struct cs_scenarios *scenarios) {
    for (size_t i = 0; i < paths->n; i++) CS_TRY(add_script(&paths->items[i], selection, settings, arena, scenarios));
    return CS_OK;
}

/* ---- --checkpoint ---- */

enum { NAMES_MAX = 64 }; /* for "did you mean" */

static void note_name(const char *name, const char **names, size_t *n) {
    for (size_t i = 0; i < *n; i++)
        if (cs_text_equal(names[i], name)) return;
    if (*n < NAMES_MAX) names[(*n)++] = name;
}

/* A toy spells out what each load writes: no file could replace it. */
static size_t n_replaceable(const struct cs_scenario *scenario) {
    return scenario->model.is_toy ? 0 : scenario->n_checkpoints;
}

static enum cs_status unknown_checkpoint(const struct cs_scenarios *scenarios, const char *name) {
    const char *names[NAMES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < scenarios->n; i++)
        for (size_t j = 0; j < n_replaceable(&scenarios->items[i]); j++)
            note_name(scenarios->items[i].checkpoints[j].name, names, &n);
    CS_REQUIRE(n > 0, CS_BAD_USAGE,
               "--checkpoint %s: no selected scenario has a checkpoint that a folder could replace", name);
    return cs_cli_unknown("checkpoint", name, names, n);
}

/* A copy of the scenario's checkpoints: the one at `index` is a folder as it lies on disk, no perturbed copy any more.
 */
static enum cs_status replace_checkpoint(struct cs_scenario *scenario, size_t index, const char *path,
                                         struct cs_arena *arena) {
    size_t n = scenario->n_checkpoints;
    struct cs_checkpoint_config *copy = CS_NEW_ARRAY(arena, struct cs_checkpoint_config, n);
    if (!copy) return no_memory("checkpoints");
    memcpy(copy, scenario->checkpoints, n * sizeof *copy);
    copy[index] = (struct cs_checkpoint_config){.name = copy[index].name, .kind = CS_CHECKPOINT_FOLDER, .path = path};
    scenario->checkpoints = copy;
    return cs_scenario_check(scenario);
}

/* "A=DIR": checkpoint A of every scenario that has one is what lies at DIR now. */
static enum cs_status override_checkpoint(struct cs_scenarios *scenarios, const char *text, struct cs_arena *arena) {
    const char *equals = strchr(text, '=');
    CS_REQUIRE(equals && equals > text && equals[1], CS_BAD_USAGE, "--checkpoint wants NAME=DIR, found \"%s\"", text);
    CS_REQUIRE(access(equals + 1, R_OK) == 0, CS_BAD_FILE, "--checkpoint %s: %s", text, strerror(errno));
    char *name = cs_arena_format(arena, "%.*s", (int)(equals - text), text);
    if (!name) return no_memory("checkpoints");
    bool is_known = false;
    for (size_t i = 0; i < scenarios->n; i++)
        for (size_t j = 0; j < n_replaceable(&scenarios->items[i]); j++) {
            if (!cs_text_equal(scenarios->items[i].checkpoints[j].name, name)) continue;
            CS_TRY(replace_checkpoint(&scenarios->items[i], j, equals + 1, arena));
            is_known = true;
        }
    return is_known ? CS_OK : unknown_checkpoint(scenarios, name);
}

static bool is_folder(const struct cs_option_given *given) { return cs_text_equal(given->option->name, "checkpoint"); }

/* The option may be repeated, but not for one checkpoint. */
static enum cs_status check_is_first(const struct cs_options *options, size_t index) {
    const char *text = options->given[index].value;
    size_t length = strcspn(text, "=") + 1;
    for (size_t i = 0; i < index; i++)
        CS_REQUIRE(!is_folder(&options->given[i]) || strncmp(options->given[i].value, text, length) != 0, CS_BAD_USAGE,
                   "--checkpoint is given twice for one name: \"%s\" and \"%s\"", options->given[i].value, text);
    return CS_OK;
}

enum cs_status cs_override_checkpoints(struct cs_scenarios *scenarios, const struct cs_options *options,
                                       struct cs_arena *arena) {
    for (size_t i = 0; i < options->n_given; i++) {
        if (!is_folder(&options->given[i])) continue;
        CS_TRY(check_is_first(options, i));
        CS_TRY(override_checkpoint(scenarios, options->given[i].value, arena));
    }
    return CS_OK;
}
