/* Family loaders/: every .json file of the folder. */
#include "sim/conform/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum cs_status judge_list(struct cs_conform_run *run, const char *file, const json_t *root) {
    size_t i;
    const json_t *json;
    json_array_foreach(root, i, json) {
        const char *id = cs_golden_string(json, "id");
        CS_REQUIRE(id, CS_BAD_FILE, "%s/%s: entry %zu has no \"id\"", run->folder, file, i);
        bool is_edge = cs_text_equal(file, "errors.json");
        cs_golden_judge(run, file, id, json, NULL, (is_edge ? cs_golden_loader_edge : cs_golden_loader_check)(json));
    }
    return CS_OK;
}

static enum cs_status judge_file(struct cs_conform_run *run, struct cs_arena *arena, const char *file) {
    const char *path = cs_arena_format(arena, "%s/%s", run->folder, file);
    CS_REQUIRE(path, CS_NO_MEMORY, "no memory for a path");
    json_t *root;
    CS_TRY(cs_read_json(path, &root));
    enum cs_status status = CS_OK;
    if (json_is_array(root))
        status = judge_list(run, file, root);
    else if (cs_text_equal(file, "rounding.json"))
        cs_golden_judge_rounding(run, file, root, arena);
    else
        status = cs_fail(CS_BAD_FILE, "%s: is not a list of cases", path);
    json_decref(root);
    return status;
}

/* ---- the folder, in the order of names ---- */

struct names {
    size_t n, capacity;
    const char **items;
};

static enum cs_status read_names(struct cs_arena *arena, DIR *folder, struct names *names) {
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || !cs_text_equal(entry->d_name + length - 5, ".json")) continue;
        void *items = names->items;
        const char **slot = cs_arena_grow(arena, &items, names->n, &names->capacity, sizeof *slot);
        const char *name = cs_arena_text(arena, entry->d_name);
        CS_REQUIRE(slot && name, CS_NO_MEMORY, "no memory for file names");
        *slot = name;
        names->items = items;
        names->n++;
    }
    return CS_OK;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static enum cs_status list_folder(struct cs_arena *arena, const char *path, struct names *names) {
    DIR *folder = opendir(path);
    CS_REQUIRE(folder, CS_BAD_FILE, "cannot read \"%s\": %s", path, strerror(errno));
    enum cs_status status = read_names(arena, folder, names);
    closedir(folder);
    if (status == CS_OK && names->n) qsort(names->items, names->n, sizeof *names->items, by_name);
    return status;
}

enum cs_status cs_golden_loaders(struct cs_conform_run *run) {
    struct cs_arena arena = {0};
    struct names names = {0};
    enum cs_status status = list_folder(&arena, run->folder, &names);
    for (size_t i = 0; i < names.n && status == CS_OK; i++) status = judge_file(run, &arena, names.items[i]);
    cs_arena_release(&arena);
    return status;
}
