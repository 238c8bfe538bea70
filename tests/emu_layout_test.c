/* Relayouts on every device but the reference (`emu`, and `gpu` where there is one) against the reference: random chains,
 * every row of the table, and sizes at which tiles, short units and single nibbles take their turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gpu/gpu.h"
#include "sim/method/layouts.h"
#include "tests/support_layout.h"
#include "tests/support_twin.h"

static const struct cs_device *ref(void) { return cs_device_by_name("ref"); }

/* From and to places `skip` bytes beside the beginning of memory. */
static void assert_moves(const struct cs_plan *plan, int64_t n_matrices, size_t skip, const char *what, uint64_t seed) {
    size_t bytes = support_result_bytes(plan, n_matrices), source_bytes = support_source_bytes(plan, n_matrices);
    if (n_matrices * plan->rows * plan->columns * plan->bits % 8 || n_matrices * plan->source_rows * plan->source_columns * plan->bits % 8) return;
    FOR_DEVICES(device) {
        struct twin to, from;
        struct cs_view a, b;
        twin_begin(&to, device, bytes + skip + 16, seed);
        twin_begin(&from, device, source_bytes + skip, seed + 1);
        ASSERT_OK(cs_view_make(&a, &to.ref, CS_U8, 1, (int64_t[]){(int64_t)bytes}));
        ASSERT_OK(cs_view_make(&b, &from.ref, CS_U8, 1, (int64_t[]){(int64_t)source_bytes}));
        a.offset = b.offset = (int64_t)skip;
        struct cs_view x = twin_view(&to, &a), y = twin_view(&from, &b);
        ASSERT_OK(cs_device_relayout(ref(), plan, n_matrices, &a, &b));
        ASSERT_OK(cs_device_relayout(device, plan, n_matrices, &x, &y));
        twin_assert_equal(&to, what, seed);
        twin_end(&to);
        twin_end(&from);
    }
}

/* ---- random rows ---- */

enum { MAX_CHAIN = 3, MAX_ELEMENTS = 1 << 15 };

struct text_row {
    struct cs_layout layout;
    char pad[32], view[128], flip[64], order[64];
};

/* One letter's share of a view: up to three factors and, somewhere among them, the letter over their product. */
static int random_share(struct random *random, char letter, char *view, int64_t *product) {
    static const int factors[] = {2, 2, 2, 3, 4, 4, 8, 16};
    int n = (int)random_below(random, 4), at = (int)random_below(random, n + 1);
    int64_t factor[3];
    *product = 1;
    for (int i = 0; i < n; i++) *product *= factor[i] = factors[random_below(random, CS_COUNT(factors))];
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

/* Few distances within bytes, so that units are woven; and as many as there are bits. */
static const uint8_t some_words[3][32] = {{6, 7, 8, 15, 22, 23, 24, 31, 3,  4,  5,  12, 19, 20, 21, 28,
                                           0, 1, 2, 9,  16, 17, 18, 25, 13, 10, 11, 14, 29, 26, 27, 30},
                                          {31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                           15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0},
                                          {32, 1,  2,  3,  36, 5,  6,  7,  8,  9,  10, 43, 12, 13, 14, 47, /* some inverted, and two moved */
                                           17, 48, 18, 51, 20, 21, 22, 55, 24, 25, 26, 59, 28, 29, 30, 63}};

static void random_row(struct random *random, bool is_last, struct text_row *row) {
    int64_t row_product, column_product;
    memset(row, 0, sizeof *row);
    int ndim = random_share(random, 'M', row->view, &row_product) + random_share(random, 'K', row->view, &column_product);
    if (random_below(random, 3) > 0) sprintf(row->pad, "%d %d", (int)row_product, (int)column_product);
    int order[16];
    for (int i = 0; i < ndim; i++) order[i] = i;
    for (int i = ndim - 1; i > 0 && random_below(random, 8) > 0; i--) {
        int j = (int)random_below(random, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (int i = 0; i < ndim; i++) {
        sprintf(row->order + strlen(row->order), "%d ", order[i]);
        if (random_below(random, 5) == 0) sprintf(row->flip + strlen(row->flip), "%d ", i);
    }
    row->layout = (struct cs_layout){.name = "random", .pad = row->pad, .view = row->view, .flip = row->flip, .order = row->order};
    if (is_last && random_below(random, 4) == 0) row->layout.word = some_words[random_below(random, 3)];
}

/* True when the chain composed. */
static bool try_chain(uint64_t seed) {
    static const int widths[] = {4, 4, 8, 8, 16, 32, 64};
    struct random random = {cs_stream_key(seed, "chain", 0), 0};
    struct text_row rows[MAX_CHAIN];
    const struct cs_layout *chain[MAX_CHAIN];
    size_t n = 1 + (size_t)random_below(&random, MAX_CHAIN);
    int bits = widths[random_below(&random, CS_COUNT(widths))];
    int64_t m = 1 + random_below(&random, 40), k = 1 + random_below(&random, 12);
    if (random_below(&random, 2)) m = INT64_C(48) << random_below(&random, 4);
    if (random_below(&random, 2)) k *= 16;
    for (size_t i = 0; i < n; i++) {
        random_row(&random, i + 1 == n, &rows[i]);
        chain[i] = &rows[i].layout;
    }
    struct cs_plan plan;
    if (cs_plan_compose(&plan, chain, n, bits, m, k) != CS_OK || plan.rows * plan.columns > MAX_ELEMENTS) return false;
    size_t skip = random_below(&random, 4) ? 0 : (size_t)random_below(&random, 9);
    assert_moves(&plan, 1 + (int64_t)(seed % 3), skip, "random chain", seed);
    return true;
}

static void random_chains_equal_the_reference(void **state) {
    (void)state;
    int n = 0;
    for (uint64_t seed = 0; seed < tested_part(1200); seed++) n += try_chain(seed);
    assert_true(n > (int)tested_part(1200) / 4);
}

/* ---- rows of the table ---- */

/* Elements in which a row counts: its own width, or all of them. */
static void every_row_equals_the_reference(void **state) {
    (void)state;
    static const int widths[] = {4, 8, 16, 32};
    static const int64_t sizes[][2] = {{256, 512}, {512, 1024}, {768, 96}, {64, 4096}, {1, 512}, {300, 90}, {514, 46}};
    int n_moved = 0;
    for (size_t i = 0; i < cs_n_layouts; i++)
        for (size_t w = 0; w < CS_COUNT(widths); w++)
            for (size_t s = 0; s < CS_COUNT(sizes); s++) {
                const struct cs_layout *row = &cs_layouts[i];
                struct cs_plan plan;
                if (row->bits && row->bits != widths[w]) continue;
                if (cs_plan_compose(&plan, &row, 1, widths[w], sizes[s][0], sizes[s][1]) != CS_OK) continue;
                assert_moves(&plan, 1 + (int64_t)(s % 2), 0, row->name, s);
                n_moved++;
            }
    assert_true(n_moved > 300);
}

static void chains_of_back_ends_equal_the_reference(void **state) {
    (void)state;
    static const struct {
        const char *chain[2];
        int64_t rows, columns;
    } cases[] = {
        {{"pairs_shuffle32", "swizzle_128x4"}, 640, 96},  {{"shuffle32", "swizzle_128x4"}, 384, 92},
        {{"swap_gated_shuffle32", "block_major_k"}, 256, 1024}, {{"deinterleave_up_first", "sm90_fp4"}, 256, 736},
        {{"swap_halves", "sm90_scale_fold"}, 640, 92},   {{"interleave_last", "hopper_value"}, 320, 1472},
        {{"interleave_last", "hopper_scale"}, 640, 92},  {{"swap_shuffle16", "block_major_k"}, 256, 896},
    };
    for (size_t i = 0; i < CS_COUNT(cases); i++) {
        const struct cs_layout *chain[] = {cs_layout_by_name(cases[i].chain[0]), cs_layout_by_name(cases[i].chain[1])};
        struct cs_plan plan = support_compose(chain, 2, 8, cases[i].rows, cases[i].columns);
        for (size_t skip = 0; skip < 4; skip += 3) assert_moves(&plan, 3, skip, cases[i].chain[1], i);
    }
}

/* A guard that falls where the source rises, as two rows that reverse a dimension between them make one. */
static void guards_that_fall_equal_the_reference(void **state) {
    (void)state;
    static const struct cs_layout first = {.name = "first", .pad = "6 2", .view = "2 3 M/6 K/2 2", .flip = "3 4", .order = "1 2 3 4 0"},
                                  second = {.name = "second", .pad = "2 6", .view = "2 M/2 3 K/6 2", .flip = "3 4", .order = "4 2 0 1 3"};
    const struct cs_layout *chain[] = {&first, &second};
    static const int widths[] = {4, 8, 16, 32, 64};
    for (size_t w = 0; w < CS_COUNT(widths); w++) {
        struct cs_plan plan = support_compose(chain, 2, widths[w], 20, 10);
        assert_moves(&plan, 3, 0, "a guard that falls", w);
    }
}

/* Weights of bytes and nibbles whose words are permuted, or not. */
static void words_of_any_kind_equal_the_reference(void **state) {
    (void)state;
    static const char *const names[] = {"sm90_fp4", "hopper_value", "marlin4", "marlin8", "awq_to_marlin4", "gptq_to_marlin4", "gptq_to_marlin8", "aiter_gu"};
    for (size_t i = 0; i < CS_COUNT(names); i++)
        for (size_t w = 0; w <= CS_COUNT(some_words); w++) {
            struct cs_layout layout = *cs_layout_by_name(names[i]);
            const struct cs_layout *chain = &layout;
            layout.word = w < CS_COUNT(some_words) ? some_words[w] : NULL;
            struct cs_plan plan = support_compose(&chain, 1, layout.bits, 256, 1024);
            assert_moves(&plan, 2, 0, names[i], w);
        }
}

/* Nibbles that leave their bytes in any order: some of these are woven from eight bytes a word, most are gathered. */
static void nibbles_in_any_order_equal_the_reference(void **state) {
    (void)state;
    enum { NDIM = 10, INNER = 4 };
    for (uint64_t seed = 0; seed < tested_part(96); seed++) {
        struct random random = {cs_mix64(seed), 0};
        struct cs_layout layout = *cs_layout_by_name("awq_to_marlin4");
        const struct cs_layout *chain = &layout;
        int dims[NDIM] = {0, 4, 8, 9, 7, 2, 5, 3, 6, 1}, first = seed % 2 ? NDIM - INNER : 0; /* the unit's alone, or all */
        char order[4 * NDIM] = "";
        for (int i = NDIM - 1; i > first; i--) {
            int j = first + (int)random_below(&random, i - first + 1), kept = dims[i];
            dims[i] = dims[j], dims[j] = kept;
        }
        for (int i = 0; i < NDIM; i++) sprintf(order + strlen(order), "%d ", dims[i]);
        layout.order = order;
        struct cs_plan plan;
        if (cs_plan_compose(&plan, &chain, 1, 4, 64, 512) == CS_OK) assert_moves(&plan, 2, 0, order, seed);
    }
}

/* Extents without small divisors leave nothing to group: single elements, and single nibbles that share bytes. */
static void extents_that_are_prime_equal_the_reference(void **state) {
    (void)state;
    static const int widths[] = {4, 8, 16, 32, 64};
    const struct cs_layout *transpose = cs_layout_by_name("transpose");
    for (size_t w = 0; w < CS_COUNT(widths); w++) {
        struct cs_plan plan = support_compose(&transpose, 1, widths[w], 101, 103);
        assert_moves(&plan, 2, 0, "transpose of primes", w);
        plan = support_compose(&transpose, 1, widths[w], 2 * 101, 31);
        assert_moves(&plan, 2, 0, "transpose", w);
    }
}

static void a_source_on_the_host_is_staged(void **state) {
    (void)state;
    const struct cs_layout *layout = cs_layout_by_name("swizzle_128x4");
    struct cs_plan plan = support_compose(&layout, 1, 8, 256, 64);
    FOR_DEVICES(device) {
        struct twin to, from;
        struct cs_view a, b;
        twin_begin(&to, device, 256 * 64, 1);
        twin_begin(&from, device, 256 * 64, 2);
        ASSERT_OK(cs_view_make(&a, &to.ref, CS_U8, 1, (int64_t[]){256 * 64}));
        ASSERT_OK(cs_view_make(&b, &from.ref, CS_U8, 1, (int64_t[]){256 * 64}));
        from.ref.kind = CS_STORAGE_HOST;
        struct cs_view x = twin_view(&to, &a);
        ASSERT_OK(cs_device_relayout(ref(), &plan, 1, &a, &b));
        ASSERT_OK(cs_device_relayout(device, &plan, 1, &x, &b));
        twin_assert_equal(&to, "swizzle of host bytes", 0);
        twin_end(&to);
        twin_end(&from);
    }
}

static int use_narrow_indices(void **state) {
    (void)state;
    cs_gpu_set_index_limit(CS_GPU_INDEX_LIMIT);
    return 0;
}

static int use_wide_indices(void **state) {
    (void)state;
    cs_gpu_set_index_limit(0);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_chains_equal_the_reference),
        cmocka_unit_test(every_row_equals_the_reference),
        cmocka_unit_test(chains_of_back_ends_equal_the_reference),
        cmocka_unit_test(guards_that_fall_equal_the_reference),
        cmocka_unit_test(words_of_any_kind_equal_the_reference),
        cmocka_unit_test(nibbles_in_any_order_equal_the_reference),
        cmocka_unit_test(extents_that_are_prime_equal_the_reference),
        cmocka_unit_test(a_source_on_the_host_is_staged),
    };
    return cmocka_run_group_tests_name("32-bit indices", tests, use_narrow_indices, NULL) +
           cmocka_run_group_tests_name("64-bit indices", tests, use_wide_indices, use_narrow_indices);
}
