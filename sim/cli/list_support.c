/* The matrix of support: method x back end x loader. */
#include "sim/cli/list.h"

static enum cs_status add(struct cs_support_list *list, const struct cs_support_row *row, struct cs_arena *arena) {
    struct cs_support_row *added = cs_arena_grow(arena, (void **)&list->items, list->n, &list->capacity, sizeof *added);
    CS_REQUIRE(added, CS_NO_MEMORY, "out of memory for the matrix of support");
    *added = *row;
    list->n++;
    return CS_OK;
}

static enum cs_status add_method(struct cs_support_list *list, const struct cs_conform_subjects *subjects,
                                 const struct cs_method *method, struct cs_arena *arena) {
    for (size_t b = 0; b < cs_n_backends; b++) {
        const struct cs_backend *backend = &cs_backends[b];
        if (!cs_text_equal(backend->method, method->name)) continue;
        struct cs_support_row row = {.method = method, .backend = backend};
        row.post_load = cs_conform_proves_post_load(subjects, backend, &row.missing);
        for (const char *const *loader = method->loaders; *loader; loader++) {
            row.loader = cs_loader_by_name(*loader);
            row.loading = cs_conform_proves_loading(subjects, method, backend, row.loader);
            CS_TRY(add(list, &row, arena));
        }
    }
    return CS_OK;
}

enum cs_status cs_list_support(const char *folder, struct cs_arena *arena, struct cs_support_list *list) {
    struct cs_conform_subjects subjects;
    *list = (struct cs_support_list){0};
    CS_TRY(cs_conform_subjects(folder, arena, &subjects));
    for (size_t m = 0; m < cs_n_methods; m++) CS_TRY(add_method(list, &subjects, cs_methods[m], arena));
    return CS_OK;
}

bool cs_list_support_row(const struct cs_support_list *list, size_t i, struct cs_arena *arena, const char **cells) {
    static const char *const proofs[] = {
        [CS_PROOF_NOTHING] = "runs", [CS_PROOF_PARTS] = "parts", [CS_PROOF_BYTES] = "bytes"};
    if (i >= list->n) return false;
    const struct cs_support_row *row = &list->items[i];
    bool is_there = row->backend->steps;
    cells[0] = row->method->name;
    cells[1] = row->backend->name;
    cells[2] = row->loader->name;
    cells[3] = proofs[row->loading];
    cells[4] = is_there ? proofs[row->post_load] : "refused";
    cells[5] = !is_there      ? row->backend->why_not
               : row->missing ? cs_arena_format(arena, "no capture of %s", row->missing)
                              : NULL;
    return true;
}
