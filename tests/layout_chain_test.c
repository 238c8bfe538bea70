/* Random chains: a composed plan must do in one pass what its rows do one by one. The rows are applied here by an
 * implementation of its own, which walks all coordinates and knows nothing of digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/method/layouts.h"
#include "tests/support_layout.h"

enum { NDIM = 16, MAX_CHAIN = 4, MAX_ELEMENTS = 1 << 16 };

/* ---- random numbers ---- */

static int64_t below(uint64_t *random, int64_t n) { return (int64_t)(cs_mix64((*random)++) % (uint64_t)n); }

/* ---- one row at a time, the slow way ---- */

/* Source element of each element, -1 for padding. */
struct matrix {
    int64_t rows, columns;
    int64_t *element;
};

/* Numbers of `text`, M and K replaced; false when a division is not exact. */
static bool read_numbers(const char *text, int64_t rows, int64_t columns, int64_t *numbers, int *n) {
    *n = 0;
    while (text && *text) {
        int64_t number = 1;
        if (*text == 'M') number = rows;
        if (*text == 'K') number = columns;
        if (*text == 'M' || *text == 'K') {
            if (*++text == '/') {
                int64_t divisor = strtoll(text + 1, (char **)&text, 10);
                if (number % divisor != 0) return false;
                number /= divisor;
            }
        } else {
            number = strtoll(text, (char **)&text, 10);
        }
        numbers[(*n)++] = number;
        while (*text == ' ') text++;
    }
    return true;
}

static void pad_slowly(struct matrix *matrix, int64_t rows, int64_t columns) {
    int64_t *padded = malloc((size_t)(rows * columns) * sizeof *padded);
    assert_non_null(padded);
    for (int64_t m = 0; m < rows; m++) {
        for (int64_t k = 0; k < columns; k++) {
            bool is_inside = m < matrix->rows && k < matrix->columns;
            padded[m * columns + k] = is_inside ? matrix->element[m * matrix->columns + k] : -1;
        }
    }
    free(matrix->element);
    *matrix = (struct matrix){rows, columns, padded};
}

/* out[c_order[0], c_order[1], …] = in[c_0, c_1, …], coordinates of flipped dimensions counted from the end. */
static void move_slowly(struct matrix *matrix, int ndim, const int64_t *extent, const int64_t *order,
                        const bool *flipped) {
    int64_t size = matrix->rows * matrix->columns, c[NDIM];
    int64_t *moved = malloc((size_t)size * sizeof *moved);
    assert_non_null(moved);
    for (int64_t i = 0; i < size; i++) {
        int64_t rest = i, to = 0;
        for (int d = ndim - 1; d >= 0; rest /= extent[d], d--) c[d] = rest % extent[d];
        for (int d = 0; d < ndim; d++) c[d] = flipped[d] ? extent[d] - 1 - c[d] : c[d];
        for (int j = 0; j < ndim; j++) to = to * extent[order[j]] + c[order[j]];
        moved[to] = matrix->element[i];
    }
    free(matrix->element);
    matrix->element = moved;
}

static bool is_transposing(const struct matrix *matrix, int ndim, const int64_t *extent, const int64_t *order) {
    int n_row_dims = 0;
    for (int64_t product = 1; n_row_dims == 0 || product < matrix->rows;) product *= extent[n_row_dims++];
    for (int j = 0; j < ndim - n_row_dims; j++) {
        if (order[j] < n_row_dims) return false;
    }
    return n_row_dims < ndim;
}

/* False when the row does not divide the matrix. */
static bool apply_slowly(struct matrix *matrix, const struct cs_layout *layout) {
    int64_t pad[NDIM], extent[NDIM], order[NDIM], flip[NDIM];
    bool flipped[NDIM] = {false};
    int n_pad, ndim, n_order, n_flip;
    read_numbers(layout->pad, 0, 0, pad, &n_pad);
    if (n_pad == 2)
        pad_slowly(matrix, (matrix->rows + pad[0] - 1) / pad[0] * pad[0],
                   (matrix->columns + pad[1] - 1) / pad[1] * pad[1]);
    if (!read_numbers(layout->view, matrix->rows, matrix->columns, extent, &ndim)) return false;
    read_numbers(layout->order, 0, 0, order, &n_order);
    read_numbers(layout->flip, 0, 0, flip, &n_flip);
    for (int i = 0; i < n_flip; i++) flipped[flip[i]] = true;
    for (int i = 0; n_order == 0 && i < ndim; i++) order[i] = i;
    bool exchange = is_transposing(matrix, ndim, extent, order);
    move_slowly(matrix, ndim, extent, order, flipped);
    if (exchange) *matrix = (struct matrix){matrix->columns, matrix->rows, matrix->element};
    return true;
}

static struct matrix identity(int64_t rows, int64_t columns) {
    struct matrix matrix = {rows, columns, malloc((size_t)(rows * columns) * sizeof(int64_t))};
    assert_non_null(matrix.element);
    for (int64_t i = 0; i < rows * columns; i++) matrix.element[i] = i;
    return matrix;
}

/* ---- random rows ---- */

struct text_row {
    struct cs_layout layout;
    char pad[32], view[128], flip[64], order[64];
};

/* One letter's share of a view: up to three factors and, somewhere among them, the letter over their product. */
static int random_share(uint64_t *random, char letter, char *view, int64_t *product) {
    static const int factors[] = {2, 2, 2, 3, 4, 4, 8};
    int n = (int)below(random, 4), at = (int)below(random, n + 1);
    int64_t factor[3];
    *product = 1;
    for (int i = 0; i < n; i++) *product *= factor[i] = factors[below(random, CS_COUNT(factors))];
    for (int i = 0; i <= n; i++) {
        char *end = view + strlen(view);
        if (i == at && n == 0)
            sprintf(end, "%c ", letter);
        else if (i == at)
            sprintf(end, "%c/%d ", letter, (int)*product);
        else
            sprintf(end, "%d ", (int)factor[i - (i > at)]);
    }
    return n + 1;
}

static void random_row(uint64_t *random, struct text_row *row) {
    int64_t row_product, column_product;
    memset(row, 0, sizeof *row);
    int ndim =
        random_share(random, 'M', row->view, &row_product) + random_share(random, 'K', row->view, &column_product);
    if (below(random, 3) > 0) sprintf(row->pad, "%d %d", (int)row_product, (int)column_product);
    int order[NDIM];
    for (int i = 0; i < ndim; i++) order[i] = i;
    for (int i = ndim - 1; i > 0 && below(random, 8) > 0; i--) {
        int j = (int)below(random, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (int i = 0; i < ndim; i++) {
        sprintf(row->order + strlen(row->order), "%d ", order[i]);
        if (below(random, 5) == 0) sprintf(row->flip + strlen(row->flip), "%d ", i);
    }
    row->layout = (struct cs_layout){
        .name = "random", .pad = row->pad, .view = row->view, .flip = row->flip, .order = row->order};
}

/* A row of the table that moves elements of `bits`, its word left out: words are not indices. */
static void table_row(uint64_t *random, int bits, struct text_row *row) {
    do row->layout = cs_layouts[below(random, (int64_t)cs_n_layouts)];
    while (row->layout.bits != 0 && row->layout.bits != bits);
    row->layout.word = NULL;
}

/* ---- comparing ---- */

static uint64_t get_element(const unsigned char *bytes, int bits, int64_t i) {
    uint64_t element = 0;
    if (bits == 4) return (unsigned)bytes[i / 2] >> (i % 2 * 4) & 15u;
    memcpy(&element, bytes + i * (bits / 8), (size_t)bits / 8);
    return element;
}

static void assert_moves(const struct cs_plan *plan, int64_t n_matrices, const int64_t *expected, uint64_t seed) {
    int64_t size = plan->rows * plan->columns, source_size = plan->source_rows * plan->source_columns;
    size_t bytes = support_result_bytes(plan, n_matrices), source_bytes = support_source_bytes(plan, n_matrices);
    unsigned char *source = malloc(source_bytes), *result = malloc(bytes);
    assert_true(source && result);
    for (size_t i = 0; i < source_bytes; i++) source[i] = (unsigned char)cs_mix64(seed + i);
    memset(result, 0xAA, bytes);
    support_relayout(plan, n_matrices, result, source);
    for (int64_t i = 0; i < n_matrices * size; i++) {
        int64_t from = expected[i % size];
        uint64_t element = from < 0 ? 0 : get_element(source, plan->bits, i / size * source_size + from);
        if (get_element(result, plan->bits, i) != element)
            fail_msg("element %" PRId64 ", %d bits, seed %" PRIu64, i, plan->bits, seed);
    }
    free(source);
    free(result);
}

static void assert_plan_is(const struct cs_plan *plan, const struct matrix *matrix, uint64_t seed) {
    if (plan->rows != matrix->rows || plan->columns != matrix->columns)
        fail_msg("rows and columns, seed %" PRIu64, seed);
    for (int64_t i = 0; i < matrix->rows * matrix->columns; i++) {
        if (cs_plan_source(plan, i) != matrix->element[i]) fail_msg("index %" PRId64 ", seed %" PRIu64, i, seed);
    }
}

/* One random chain; counts what became of it. */
static void try_chain(uint64_t seed, bool from_table, int count[CS_INTERNAL + 1]) {
    static const int widths[] = {4, 8, 8, 16, 32, 64};
    uint64_t random = cs_stream_key(seed, "chain", 0);
    struct text_row rows[MAX_CHAIN];
    const struct cs_layout *chain[MAX_CHAIN];
    size_t n = 1 + (size_t)below(&random, MAX_CHAIN);
    int bits = widths[below(&random, CS_COUNT(widths))];
    int64_t m = 1 + below(&random, 40), k = 1 + below(&random, 12); /* half of the random rows divide, or pad, these */
    if (from_table)
        m *= 32;
    else if (below(&random, 2))
        m = INT64_C(48) << below(&random, 4);
    if (below(&random, 2)) k *= 16;
    struct matrix matrix = identity(m, k);
    bool divides = true;
    for (size_t i = 0; i < n; i++) {
        if (from_table)
            table_row(&random, bits, &rows[i]);
        else
            random_row(&random, &rows[i]);
        chain[i] = &rows[i].layout;
        divides = divides && apply_slowly(&matrix, chain[i]);
        if (matrix.rows * matrix.columns > MAX_ELEMENTS) n = i + 1; /* paddings multiply */
    }
    struct cs_plan plan;
    enum cs_status status = cs_plan_compose(&plan, chain, n, bits, m, k);
    count[status]++;
    if (status == CS_OK) {
        assert_true(divides);
        assert_plan_is(&plan, &matrix, seed);
        assert_moves(&plan, 1 + (int64_t)(seed % 3), matrix.element, seed);
    } else {
        assert_true(status == CS_UNSUPPORTED ? n > 1 : !divides);
    }
    free(matrix.element);
}

static void random_chains_do_what_their_rows_do_one_by_one(void **state) {
    (void)state;
    int count[CS_INTERNAL + 1] = {0};
    for (uint64_t seed = 0; seed < 600; seed++) try_chain(seed, false, count);
    assert_true(count[CS_OK] > 200);
    assert_int_equal(count[CS_OK] + count[CS_BAD_SHAPE] + count[CS_UNSUPPORTED], 600);
}

static void chains_of_known_rows_do_what_they_do_one_by_one(void **state) {
    (void)state;
    int count[CS_INTERNAL + 1] = {0};
    for (uint64_t seed = 0; seed < 600; seed++) try_chain(seed, true, count);
    assert_true(count[CS_OK] > 200);
    assert_int_equal(count[CS_OK] + count[CS_BAD_SHAPE] + count[CS_UNSUPPORTED], 600);
}

/* Two rows that reverse a dimension between them: where the source rises, one of the guards falls. */
static void guards_may_fall_where_the_source_rises(void **state) {
    (void)state;
    static const struct cs_layout first = {.name = "first", .pad = "6 2", .view = "2 3 M/6 K/2 2", .flip = "3 4", .order = "1 2 3 4 0"},
                                  second = {.name = "second", .pad = "2 6", .view = "2 M/2 3 K/6 2", .flip = "3 4", .order = "4 2 0 1 3"};
    const struct cs_layout *chain[] = {&first, &second};
    static const int widths[] = {4, 8, 16, 32, 64};
    for (size_t w = 0; w < CS_COUNT(widths); w++) {
        struct matrix matrix = identity(20, 10);
        assert_true(apply_slowly(&matrix, &first) && apply_slowly(&matrix, &second));
        struct cs_plan plan = support_compose(chain, 2, widths[w], 20, 10);
        bool falls = false;
        for (int g = 0; g < plan.n_guards; g++) falls = falls || plan.guard[g].coefficient[plan.n_digits - 1] < 0;
        assert_true(falls);
        assert_plan_is(&plan, &matrix, w);
        assert_moves(&plan, 3, matrix.element, w);
        free(matrix.element);
    }
}

/* Every chain that a back end runs, at sizes of real models, must be one pass. */
static void chains_of_back_ends_compose(void **state) {
    (void)state;
    static const struct {
        const char *chain[2];
        int64_t rows, columns;
    } cases[] = {
        {{"pairs_shuffle32", "swizzle_128x4"}, 5888, 96},
        {{"shuffle32", "swizzle_128x4"}, 3072, 92},
        {{"swap_gated_shuffle32", "swizzle_128x4"}, 384, 128},
        {{"swap_gated_shuffle32", "block_major_k"}, 1536, 4096},
        {{"swap_shuffle16", "block_major_k"}, 4096, 7168},
        {{"shuffle16", "block_major_k"}, 7168, 2048},
        {{"deinterleave_up_first", "sm90_fp4"}, 5888, 1472},
        {{"deinterleave_up_first", "sm90_scale_fold"}, 5888, 92},
        {{"swap_halves", "sm90_fp4"}, 5888, 1472},
        {{"swap_halves", "sm90_scale_fold"}, 5888, 92},
        {{"swap_halves", "swizzle_128x4"}, 3072, 128},
        {{"deinterleave_up_first", "interleave64"}, 384, 1024},
        {{"interleave_last", "hopper_value"}, 5888, 1472},
        {{"interleave_last", "hopper_scale"}, 5888, 92},
    };
    for (size_t i = 0; i < CS_COUNT(cases); i++) {
        const struct cs_layout *chain[] = {cs_layout_by_name(cases[i].chain[0]), cs_layout_by_name(cases[i].chain[1])};
        support_compose(chain, 2, 8, cases[i].rows, cases[i].columns);
    }
}

/* Scripts may hand over anything: an error, or a plan that a slow pass agrees with, and nothing else. */
static void garbage_is_refused_or_means_something(void **state) {
    (void)state;
    static const char alphabet[] = "MK/ 0123489 2 4-x\xff";
    uint64_t random = 7;
    for (int round = 0; round < 20000; round++) {
        char text[4][12];
        for (int t = 0; t < 4; t++) {
            int length = (int)below(&random, 11);
            for (int i = 0; i < length; i++) text[t][i] = alphabet[below(&random, sizeof alphabet - 1)];
            text[t][length] = 0;
        }
        if (below(&random, 2)) strcpy(text[0], "M/2 2 K");
        struct cs_layout layout = {.name = "garbage", .view = text[0], .order = text[1]};
        if (below(&random, 4) == 0) layout.pad = text[2];
        if (below(&random, 4) == 0) layout.flip = text[3];
        const struct cs_layout *chain = &layout;
        struct cs_plan plan;
        int64_t rows = INT64_C(1) << below(&random, 41);
        if (cs_plan_compose(&plan, &chain, 1, 8, rows, 1 + below(&random, 5)) == CS_OK)
            assert_true(cs_plan_source(&plan, plan.rows * plan.columns - 1) < rows * 5);
        else
            assert_non_null(strstr(cs_error_text(), "garbage"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_chains_do_what_their_rows_do_one_by_one),
        cmocka_unit_test(guards_may_fall_where_the_source_rises),
        cmocka_unit_test(chains_of_known_rows_do_what_they_do_one_by_one),
        cmocka_unit_test(chains_of_back_ends_compose),
        cmocka_unit_test(garbage_is_refused_or_means_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
