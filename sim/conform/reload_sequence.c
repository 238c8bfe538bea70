/* The capture script's sequences of loads. */
#include "sim/conform/reload.h"

#include <string.h>

static const struct cs_golden_sequence sequences[] = {
    {"A_B_A", 2, {{.label = "reloadB", .checkpoint = "B"}, {.label = "reloadA", .checkpoint = "A"}}},
    {"aa", 1, {{.label = "reloadB", .checkpoint = "B"}}}, /* tied/aa */
    {"abort_then_reload",
     2,
     {{.checkpoint = "B", .change = CS_GOLDEN_HALF}, {.label = "abortB_then_reloadA", .checkpoint = "A"}}},
    {"duplicate", 1, {{.label = "reloadB_duplicate", .checkpoint = "B", .change = CS_GOLDEN_DUPLICATE}}},
    {"kv_scales/aa",
     2,
     {{.label = "reloadB", .checkpoint = "B"}, {.label = "reloadC_without_scales", .checkpoint = "C"}}},
    {"kernel_format", 1, {{.label = "copyB", .checkpoint = "B", .driver = "kernel_format"}}},
    {"nonpersistent", 1, {{.label = "reloadA", .checkpoint = "A"}}}, /* unloaded_buffer */
    {"one_tensor", 1, {{.label = "reload_one_tensor", .checkpoint = "B", .change = CS_GOLDEN_ONE}}},
    {"partial", 1, {{.label = "reloadB_partial", .checkpoint = "B", .change = CS_GOLDEN_PARTIAL}}},
    {"persistent", 1, {{.label = "reloadA", .checkpoint = "A"}}},
    {"raw_load_then_pwal", 1, {{.label = "rawB", .checkpoint = "B", .driver = "raw_post_load"}}},
    {"same_twice", 2, {{.label = "reloadA", .checkpoint = "A"}, {.label = "reloadA2", .checkpoint = "A"}}},
    {"shuffled", 1, {{.label = "reloadB_shuffled", .checkpoint = "B", .change = CS_GOLDEN_SHUFFLED}}},
    {"split_differently_fused", 1, {{.label = "reloadB_fused", .checkpoint = "B", .change = CS_GOLDEN_OTHER_FORM}}},
    {"split_differently_streamed",
     1,
     {{.label = "reloadB_streamed", .checkpoint = "B", .change = CS_GOLDEN_OTHER_FORM}}},
    {"unknown_name", 1, {{.label = "reloadB_unknown", .checkpoint = "B", .change = CS_GOLDEN_UNKNOWN}}},
};

bool cs_golden_id_is(const char *id, const char *sequence) {
    const char *start = strchr(id, '/');
    if (!start) return false;
    size_t length = strlen(sequence);
    return strcspn(start + 1, "/") == length && strncmp(start + 1, sequence, length) == 0;
}

const struct cs_golden_sequence *cs_golden_sequence_find(const char *id) {
    for (size_t i = 0; i < CS_COUNT(sequences); i++) /* of one model first, then of any */
        if (cs_text_equal(id, sequences[i].name)) return &sequences[i];
    for (size_t i = 0; i < CS_COUNT(sequences); i++)
        if (cs_golden_id_is(id, sequences[i].name)) return &sequences[i];
    return NULL;
}

/* ---- operations ---- */

/* The first tensor of layer 0's experts. */
static const char *first_of_experts(size_t n_names, const char *const *names) {
    for (size_t i = 0; i < n_names; i++)
        if (strstr(names[i], "layers.0.mlp.experts")) return names[i];
    return names[0];
}

static enum cs_status list_of(struct cs_arena *arena, size_t n, const char *const *items, const char *const **list) {
    const char **made = CS_NEW_ARRAY(arena, const char *, n);
    CS_REQUIRE(made, CS_NO_MEMORY, "no memory for %zu names", n);
    memcpy(made, items, n * sizeof *made);
    *list = made;
    return CS_OK;
}

static enum cs_status shuffle(struct cs_arena *arena, size_t n, struct cs_op *op) {
    size_t *order = CS_NEW_ARRAY(arena, size_t, n + 1);
    CS_REQUIRE(order, CS_NO_MEMORY, "no memory for the order of %zu tensors", n);
    cs_golden_permutation(7, n, order);
    op->n_order = n;
    op->order = order;
    return CS_OK;
}

enum cs_status cs_golden_load_op(struct cs_arena *arena, const struct cs_golden_model *model, size_t n_names,
                                 const char *const *names, const struct cs_golden_load *load, struct cs_op *op) {
    static const char *const unknown[] = {"layers.0.nothing.weight"};
    const char *first = first_of_experts(n_names, names);
    const char *const left_out[] = {"layers.0.mlp.router.weight", "layers.1.norm.weight", names[n_names - 1]};
    *op = (struct cs_op){
        .kind = CS_OP_RELOAD, .driver = load->driver ? load->driver : "layerwise", .checkpoint = load->checkpoint};
    switch (load->change) {
    case CS_GOLDEN_WHOLE:
        return CS_OK;
    case CS_GOLDEN_SHUFFLED:
        return shuffle(arena, n_names, op);
    case CS_GOLDEN_OTHER_FORM:
        op->loader = model->kind->other_loader;
        CS_REQUIRE(op->loader, CS_BAD_FILE, "golden file: models of kind %s have one form only", model->kind->name);
        return CS_OK;
    case CS_GOLDEN_PARTIAL:
        op->n_omitted = model->layers > 1 ? 3 : 2;
        return list_of(arena, 3, model->layers > 1 ? left_out : (const char *const[]){left_out[0], left_out[2], NULL},
                       &op->omitted);
    case CS_GOLDEN_ONE:
        op->has_only = true;
        op->n_only = 1;
        return list_of(arena, 1, &first, &op->only);
    case CS_GOLDEN_DUPLICATE:
        op->n_duplicated = 1;
        return list_of(arena, 1, &first, &op->duplicated);
    case CS_GOLDEN_HALF:
        op->is_stopped = true;
        op->stop_after = (int64_t)(n_names / 2);
        return CS_OK;
    case CS_GOLDEN_UNKNOWN:
        op->n_unknown = 1;
        op->unknown = unknown;
        op->unknown_at = 3;
        return CS_OK;
    }
    return CS_OK;
}
