#include "sim/conform/internal.h"

#include <stdio.h>
#include <string.h>

const struct cs_golden_tensor *cs_golden_tensor_at(const struct cs_golden_checkpoint *checkpoint, int64_t element) {
    for (size_t i = 0; i < checkpoint->n; i++) {
        const struct cs_golden_tensor *tensor = &checkpoint->tensors[i];
        if (element >= tensor->start && element < tensor->start + tensor->n_elements) return tensor;
    }
    return NULL;
}

enum { TEXT = 256 };

static const char *in_words(const struct cs_golden_checkpoint *checkpoint, const struct cs_source_set *set, int64_t at,
                            char text[TEXT]) {
    uint32_t from = set->from[at];
    const struct cs_golden_tensor *tensor = cs_golden_tensor_at(checkpoint, from);
    if (from == CS_FROM_NOTHING)
        snprintf(text, TEXT, "padding");
    else if (from == CS_FROM_LOADER)
        snprintf(text, TEXT, "%g from the loader", cs_dtype_decode(set->dtype, set->value[at]));
    else if (from == CS_FROM_UNKNOWN || !tensor)
        snprintf(text, TEXT, "bytes that come from nowhere");
    else
        snprintf(text, TEXT, "element %" PRId64 " of %s", from - tensor->start, tensor->name);
    return text;
}

static bool is_same(const struct cs_source_set *a, const struct cs_source_set *b, int64_t i) {
    return a->from[i] == b->from[i] && (a->from[i] != CS_FROM_LOADER || a->value[i] == b->value[i]);
}

static int64_t count_different(const struct cs_source_set *a, const struct cs_source_set *b, int64_t n,
                               int64_t *first) {
    int64_t different = 0;
    for (int64_t i = 0; i < n; i++)
        if (!is_same(a, b, i) && different++ == 0) *first = i;
    return different;
}

enum cs_status cs_source_sets_equal(const struct cs_golden_checkpoint *checkpoint, const struct cs_source_set *expected,
                                    const struct cs_source_set *actual) {
    int64_t n = expected->experts * expected->rows * expected->columns, first = 0;
    bool has_fills = expected->value || actual->value;
    bool is_equal =
        !has_fills && (n == 0 || memcmp(expected->from, actual->from, (size_t)n * sizeof *expected->from) == 0);
    int64_t different = is_equal ? 0 : count_different(expected, actual, n, &first);
    char a[TEXT], b[TEXT];
    CS_REQUIRE(different == 0, CS_BAD_VALUE,
               "%s: %" PRId64 " of %" PRId64 " elements differ, the first is [%" PRId64 ", %" PRId64 ", %" PRId64
               "]: expected %s, got %s",
               expected->name, different, n, first / expected->columns / expected->rows,
               first / expected->columns % expected->rows, first % expected->columns,
               in_words(checkpoint, expected, first, a), in_words(checkpoint, actual, first, b));
    CS_REQUIRE(expected->n_written == actual->n_written && expected->n_nothing == actual->n_nothing, CS_BAD_VALUE,
               "%s: expected %" PRId64 " written and %" PRId64 " padding elements, got %" PRId64 " and %" PRId64,
               expected->name, expected->n_written, expected->n_nothing, actual->n_written, actual->n_nothing);
    return CS_OK;
}
