/* The models of a folder of scenarios: Lua functions, not a registry. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/list.h"
#include "sim/script/script.h"

static int is_lua(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 4 && entry->d_name[0] != '.' && cs_text_equal(entry->d_name + length - 4, ".lua");
}

static enum cs_status add_file(struct cs_model_list *list, const char *folder, const char *file,
                               struct cs_arena *arena) {
    const char *path = cs_arena_format(arena, "%s/models/%s", folder, file);
    struct cs_listed_model *models;
    size_t n;
    CS_REQUIRE(path, CS_NO_MEMORY, "out of memory for the list of models");
    CS_TRY(cs_script_models(path, arena, &models, &n));
    for (size_t i = 0; i < n; i++) {
        struct cs_model_row *row =
            cs_arena_grow(arena, (void **)&list->items, list->n, &list->capacity, sizeof *list->items);
        CS_REQUIRE(row, CS_NO_MEMORY, "out of memory for the list of models");
        row->name = cs_arena_format(arena, "models.%.*s.%s", (int)strlen(file) - 4, file, models[i].function);
        row->model = models[i].model;
        CS_REQUIRE(row->name, CS_NO_MEMORY, "out of memory for the list of models");
        list->n++;
    }
    return CS_OK;
}

enum cs_status cs_list_models(const char *folder, struct cs_arena *arena, struct cs_model_list *list) {
    struct dirent **entries;
    *list = (struct cs_model_list){0};
    const char *path = cs_arena_format(arena, "%s/models", folder);
    CS_REQUIRE(path, CS_NO_MEMORY, "out of memory for the list of models");
    int n = scandir(path, &entries, is_lua, alphasort);
    CS_REQUIRE(n >= 0, CS_BAD_FILE,
               "cannot read \"%s\": %s; name a folder of scenarios that has models: list models DIR", path,
               strerror(errno));
    enum cs_status status = CS_OK;
    for (int i = 0; i < n; i++) {
        if (status == CS_OK) status = add_file(list, folder, entries[i]->d_name, arena);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static const struct cs_module_template *experts_of(const struct cs_model_config *model) {
    for (size_t i = 0; i < model->n_templates; i++)
        if (model->templates[i].is_routed_experts) return &model->templates[i];
    return NULL;
}

bool cs_list_model_row(const struct cs_model_list *list, size_t i, struct cs_arena *arena, const char **cells) {
    if (i >= list->n) return false;
    const struct cs_model_config *model = list->items[i].model;
    const struct cs_module_template *experts = experts_of(model);
    cells[0] = list->items[i].name;
    cells[1] = cs_arena_format(arena, "%" PRId64, model->layers);
    cells[2] = experts ? cs_arena_format(arena, "%" PRId64, experts->first_layer) : NULL;
    cells[3] = cs_arena_format(arena, "%" PRId64, model->experts);
    cells[4] = cs_arena_format(arena, "%" PRId64, model->hidden);
    cells[5] = cs_arena_format(arena, "%" PRId64, model->intermediate);
    cells[6] = experts ? cs_arena_format(arena, "%s%s", model->prefix, experts->checkpoint) : NULL;
    return true;
}
