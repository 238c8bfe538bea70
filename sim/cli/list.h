/* The parts of the verb list; inside sim/cli only. */
#ifndef CS_CLI_LIST_H
#define CS_CLI_LIST_H

#include "sim/cli/cli.h"
#include "sim/conform/conform.h"
#include "sim/session/session.h"

struct cs_model_row {
    const char *name; /* "models.qwen3.qwen3_30b_a3b" */
    const struct cs_model_config *model;
};
struct cs_model_list {
    size_t n, capacity;
    struct cs_model_row *items;
};

/* Every model of FOLDER/models, by file and function. CS_BAD_FILE when there is no such folder. */
enum cs_status cs_list_models(const char *folder, struct cs_arena *arena, struct cs_model_list *list);
/* Cells of row i: name, layers, the first one with experts, experts, sizes, experts' name in checkpoints. */
bool cs_list_model_row(const struct cs_model_list *list, size_t i, struct cs_arena *arena, const char **cells);

/* Every method with every back end and loader: what of it is captured in a folder of golden files. */
struct cs_support_row {
    const struct cs_method *method;
    const struct cs_backend *backend;
    const struct cs_loader *loader;
    enum cs_proof loading, post_load;
    const char *missing; /* what of its post-load is not */
};
struct cs_support_list {
    size_t n, capacity;
    struct cs_support_row *items;
};
enum cs_status cs_list_support(const char *folder, struct cs_arena *arena, struct cs_support_list *list);
bool cs_list_support_row(const struct cs_support_list *list, size_t i, struct cs_arena *arena, const char **cells);

#endif
