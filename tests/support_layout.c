#include "tests/support_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ref/ref.h"

struct cs_plan support_compose(const struct cs_layout *const *chain, size_t n, int bits, int64_t rows,
                               int64_t columns) {
    struct cs_plan plan;
    if (cs_plan_compose(&plan, chain, n, bits, rows, columns) != CS_OK) fail_msg("%s", cs_error_text());
    return plan;
}

size_t support_result_bytes(const struct cs_plan *plan, int64_t n_matrices) {
    return (size_t)(n_matrices * plan->rows * plan->columns * plan->bits + 7) / 8;
}

size_t support_source_bytes(const struct cs_plan *plan, int64_t n_matrices) {
    return (size_t)(n_matrices * plan->source_rows * plan->source_columns * plan->bits + 7) / 8;
}

static struct cs_view bytes_view(struct cs_storage *storage, void *data, size_t bytes) {
    struct cs_view view;
    *storage = (struct cs_storage){.kind = CS_STORAGE_MEMORY, .id = 1, .bytes = bytes, .data = data};
    assert_int_equal(cs_view_make(&view, storage, CS_U8, 1, (int64_t[]){(int64_t)bytes}), CS_OK);
    return view;
}

void support_relayout(const struct cs_plan *plan, int64_t n_matrices, void *destination, void *source) {
    struct cs_storage storage[2];
    struct cs_view to = bytes_view(&storage[0], destination, support_result_bytes(plan, n_matrices));
    struct cs_view from = bytes_view(&storage[1], source, support_source_bytes(plan, n_matrices));
    assert_int_equal(cs_ref_relayout(NULL, plan, n_matrices, &to, &from), CS_OK);
}
