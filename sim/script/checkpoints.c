/* Checkpoints of a scenario: what it declares, and what its plan names without declaring. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/script/arguments.h"

#define CONFIG struct cs_checkpoint_config

enum { FIRST_PERTURBED = 'B', LAST_PERTURBED = 'A' + CS_CHECKPOINT_VERSIONS - 1, MOST_PATTERN_VERSIONS = 1 << 20 };

/* ---- the language ---- */

static CONFIG *push_config(lua_State *L, enum cs_checkpoint_kind kind) {
    CONFIG *config = CS_SCRIPT_NEW(L, CONFIG, 1);
    config->kind = kind;
    config->line = cs_script_line(L);
    cs_object_push(L, CS_OBJECT_CHECKPOINT, config);
    return config;
}

int cs_script_synthetic(lua_State *L) {
    cs_value_last_argument(L, 0, "cs.synthetic");
    push_config(L, CS_CHECKPOINT_SYNTHETIC);
    return 1;
}

int cs_script_without_optional(lua_State *L) {
    cs_value_last_argument(L, 0, "cs.without_optional");
    push_config(L, CS_CHECKPOINT_SYNTHETIC)->leaves_out_optional = true;
    return 1;
}

int cs_script_pattern(lua_State *L) {
    struct cs_value argument = cs_value_argument(L, 1, "cs.pattern"),
                    intermediate = cs_value_argument(L, 2, "cs.pattern.intermediate");
    cs_value_last_argument(L, 2, "cs.pattern");
    lua_settop(L, 2);
    CONFIG *config = push_config(L, CS_CHECKPOINT_PATTERN);
    config->version = (unsigned)cs_value_integer(&argument, 0, MOST_PATTERN_VERSIONS);
    int power = (int)(config->version % 8); /* as captured: 0.5 and 0.25, then 2 and 4 */
    config->kv_scales[0] = ldexpf(1, 2 * power - 1);
    config->kv_scales[1] = ldexpf(1, 4 * power - 2);
    if (!cs_value_is(&intermediate, LUA_TNIL)) config->intermediate = cs_value_integer(&intermediate, 1, 1 << 24);
    return 1;
}

int cs_script_perturbed(lua_State *L) {
    struct cs_value original = cs_value_argument(L, 1, "cs.perturbed.checkpoint");
    struct cs_value version = cs_value_argument(L, 2, "cs.perturbed.version");
    cs_value_last_argument(L, 2, "cs.perturbed");
    lua_settop(L, 2);
    CONFIG *config = push_config(L, CS_CHECKPOINT_SYNTHETIC);
    config->perturbs = cs_value_text(&original);
    if (!cs_value_is(&version, LUA_TNIL))
        config->version = (unsigned)cs_value_integer(&version, 1, CS_CHECKPOINT_VERSIONS - 1);
    return 1;
}

int cs_script_patched(lua_State *L) {
    struct cs_value original = cs_value_argument(L, 1, "cs.patched.checkpoint"),
                    tensor = cs_value_argument(L, 2, "cs.patched.tensor"),
                    at = cs_value_argument(L, 3, "cs.patched.at"),
                    number = cs_value_argument(L, 4, "cs.patched.number");
    cs_value_last_argument(L, 4, "cs.patched");
    lua_settop(L, 4);
    CONFIG *config = push_config(L, CS_CHECKPOINT_SYNTHETIC);
    struct cs_extents extents = {0};
    config->patches = cs_value_text(&original);
    config->change.tensor = cs_value_text(&tensor);
    cs_value_extents(&at, &extents);
    config->change.n_at = extents.ndim;
    memcpy(config->change.at, extents.items, sizeof config->change.at);
    config->change.number = cs_value_number(&number);
    return 1;
}

/* Relative to the scenario's file, whichever file calls. */
int cs_script_folder_checkpoint(lua_State *L) {
    struct cs_value argument = cs_value_argument(L, 1, "cs.folder");
    cs_value_last_argument(L, 1, "cs.folder");
    lua_settop(L, 1);
    const char *path = cs_value_text(&argument), *folder = cs_script_folder(L, cs_script_of(L)->path);
    if (!*path) cs_value_fail(&argument, "a folder or a .safetensors file");
    bool is_absolute = *path == '/', is_here = cs_text_equal(folder, ".");
    const char *slash = is_absolute || is_here || cs_text_equal(folder, "/") ? "" : "/";
    lua_pushfstring(L, "%s%s%s", is_absolute || is_here ? "" : folder, slash, path);
    const char *joined = cs_script_copy(L, lua_tostring(L, -1));
    push_config(L, CS_CHECKPOINT_FOLDER)->path = joined;
    return 1;
}

/* ---- completing ---- */

struct list {
    CONFIG *items;
    size_t n, capacity;
};

static bool is_declared(const struct list *list, const char *name) {
    for (size_t i = 0; i < list->n; i++)
        if (cs_text_equal(list->items[i].name, name)) return true;
    return false;
}

/* "B" … "H" → 1 … 7, else 0. */
static unsigned version_of_letter(const char *name) {
    return *name >= FIRST_PERTURBED && *name <= LAST_PERTURBED && !name[1] ? (unsigned)(*name - 'A') : 0;
}

/* Names that nobody explains are left for cs_scenario_check. */
static void declare(struct list *list, const char *name) {
    unsigned version = version_of_letter(name);
    if (is_declared(list, name) || (!version && !cs_text_equal(name, "A"))) return;
    list->items[list->n++] = (CONFIG){.name = name, .perturbs = version ? "A" : NULL, .version = version};
    if (version) declare(list, "A");
}

static bool is_taken(const struct list *list, const char *original, unsigned version) {
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].perturbs && cs_text_equal(list->items[i].perturbs, original) &&
            list->items[i].version == version)
            return true;
    return false;
}

static void choose_version(const struct cs_value *scenario, const struct list *list, CONFIG *config) {
    unsigned version = version_of_letter(config->name);
    if (!version || is_taken(list, config->perturbs, version))
        for (version = 1; version < CS_CHECKPOINT_VERSIONS && is_taken(list, config->perturbs, version);) version++;
    if (version == CS_CHECKPOINT_VERSIONS)
        cs_value_refuse(scenario, "checkpoints.%s: \"%s\" has %d perturbed copies already", config->name,
                        config->perturbs, CS_CHECKPOINT_VERSIONS - 1);
    config->version = version;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const CONFIG *)a)->name, ((const CONFIG *)b)->name);
}

/* A toy's checkpoints are its loads: each says what it writes, none is a copy of another. */
static void declare_toy_loads(struct list *list, const struct cs_model_config *model) {
    for (size_t i = 0; i < model->n_toy_loads; i++)
        if (!is_declared(list, model->toy_loads[i].checkpoint))
            list->items[list->n++] = (CONFIG){.name = model->toy_loads[i].checkpoint};
}

void cs_checkpoints_complete(const struct cs_value *value, struct cs_scenario *scenario) {
    size_t most = 2 * scenario->n_checkpoints + scenario->n_ops + scenario->model.n_toy_loads + CS_CHECKPOINT_VERSIONS;
    struct list list = {.items = CS_SCRIPT_NEW(value->L, CONFIG, most), .n = scenario->n_checkpoints};
    if (list.n) memcpy(list.items, scenario->checkpoints, list.n * sizeof *list.items);
    declare_toy_loads(&list, &scenario->model);
    for (size_t i = 0; !scenario->model.is_toy && i < scenario->n_ops; i++)
        if (scenario->ops[i].checkpoint) declare(&list, scenario->ops[i].checkpoint);
    for (size_t i = 0; i < scenario->n_checkpoints; i++)
        for (int k = 0; k < 2; k++) {
            const char *original = k ? list.items[i].patches : list.items[i].perturbs;
            if (original) declare(&list, original);
        }
    qsort(list.items, list.n, sizeof *list.items, compare_names);
    for (size_t i = 0; i < list.n; i++)
        if (list.items[i].perturbs && !list.items[i].version) choose_version(value, &list, &list.items[i]);
    scenario->checkpoints = list.items;
    scenario->n_checkpoints = list.n;
}
