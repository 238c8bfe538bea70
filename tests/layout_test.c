#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/method/layouts.h"
#include "tests/support_layout.h"

/* ---- helpers ---- */

static struct cs_plan compose(const char *name, int bits, int64_t rows, int64_t columns) {
    const struct cs_layout *layout = cs_layout_by_name(name);
    assert_non_null(layout);
    return support_compose(&layout, 1, bits, rows, columns);
}

/* Row that lands in row `row` of the result; for layouts that only move rows. */
static int64_t source_row(const struct cs_plan *plan, int64_t row) {
    return cs_plan_source(plan, row * plan->columns) / plan->source_columns;
}

static void assert_rows_begin(const char *name, int64_t n_rows, size_t n, const int *expected) {
    struct cs_plan plan = compose(name, 8, n_rows, 3);
    for (size_t i = 0; i < n; i++) assert_int_equal(source_row(&plan, (int64_t)i), expected[i]);
}
#define ASSERT_ROWS(name, n_rows, ...)                                                                                 \
    assert_rows_begin(name, n_rows, CS_COUNT(((int[]){__VA_ARGS__})), (int[]){__VA_ARGS__})

/* ---- index lists, by hand ---- */

static void shuffles_take_rows_in_these_orders(void **state) {
    (void)state;
    ASSERT_ROWS("shuffle16", 32, 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15, 16, 18, 20);
    ASSERT_ROWS("shuffle32", 64, 0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29, 2, 6, 10, 14, 18, 22, 26, 30,
                3, 7, 11, 15, 19, 23, 27, 31, 32, 36);
    ASSERT_ROWS("pairs_shuffle32", 64, 1, 5, 9, 13, 17, 21, 25, 29, 0, 4, 8, 12, 16, 20, 24, 28, 3, 7);
}

static void gated_shuffles_take_rows_of_both_halves(void **state) {
    (void)state;
    ASSERT_ROWS("gated_shuffle32", 128, 0, 2, 4, 6, 8, 10, 12, 14, 64, 66, 68, 70, 72, 74, 76, 78, 1, 3, 5, 7, 9, 11,
                13, 15, 65, 67, 69, 71, 73, 75, 77, 79, 16, 18, 20, 22, 24, 26, 28, 30, 80, 82);
    ASSERT_ROWS("swap_gated_shuffle32", 128, 64, 66, 68, 70, 72, 74, 76, 78, 0, 2, 4, 6, 8, 10, 12, 14, 65, 67);
    ASSERT_ROWS("swap_shuffle16", 64, 32, 34, 36, 38, 40, 42, 44, 46, 33, 35, 37, 39, 41, 43, 45, 47, 48);
}

static void halves_and_pairs_swap_and_interleave(void **state) {
    (void)state;
    ASSERT_ROWS("swap_halves", 6, 3, 4, 5, 0, 1, 2);
    ASSERT_ROWS("swap_pairs", 6, 1, 0, 3, 2, 5, 4);
    ASSERT_ROWS("gated_reorder", 6, 0, 3, 1, 4, 2, 5);
    ASSERT_ROWS("interleave_up_first", 6, 3, 0, 4, 1, 5, 2);
    ASSERT_ROWS("deinterleave", 6, 0, 2, 4, 1, 3, 5);
    ASSERT_ROWS("deinterleave_up_first", 6, 1, 3, 5, 0, 2, 4);
}

/* Element (m, k) of the padded matrix goes to this offset. */
static int64_t swizzle_offset(int64_t m, int64_t k, int64_t padded_columns) {
    return (m / 128 * (padded_columns / 4) + k / 4) * 512 + m % 32 * 16 + m % 128 / 32 * 4 + k % 4;
}

static void the_swizzle_is_this_formula_and_pads_with_zeros(void **state) {
    (void)state;
    struct cs_plan plan = compose("swizzle_128x4", 8, 200, 6);
    assert_int_equal(plan.rows, 256);
    assert_int_equal(plan.columns, 8);
    for (int64_t m = 0; m < 256; m++) {
        for (int64_t k = 0; k < 8; k++) {
            int64_t expected = m < 200 && k < 6 ? m * 6 + k : -1;
            assert_int_equal(cs_plan_source(&plan, swizzle_offset(m, k, 8)), expected);
        }
    }
}

static void a_transposing_row_exchanges_rows_and_columns(void **state) {
    (void)state;
    struct cs_plan plan = compose("transpose", 16, 3, 5);
    assert_int_equal(plan.rows, 5);
    assert_int_equal(plan.columns, 3);
    assert_int_equal(cs_plan_source(&plan, 1), 5);
    plan = compose("marlin_e8m0_scale", 8, 128, 4);
    assert_int_equal(plan.rows, 4);
    plan = compose("block_major_k", 8, 2, 256); /* K/128, M, 128: not all of K comes first */
    assert_int_equal(plan.rows, 2);
    assert_int_equal(cs_plan_source(&plan, 128), 256);
}

/* Speed rests on this: rows move whole, and what cancels leaves a plain copy. */
static void whole_rows_become_one_long_digit(void **state) {
    (void)state;
    struct cs_plan plan = compose("shuffle32", 8, 5888, 1536);
    assert_int_equal(plan.n_digits, 4);
    assert_int_equal(plan.digit[3].extent, 1536);
    assert_int_equal(plan.digit[3].source, 1);
    const struct cs_layout *twice[] = {cs_layout_by_name("swap_halves"), cs_layout_by_name("swap_halves")};
    plan = support_compose(twice, 2, 8, 64, 48);
    assert_int_equal(plan.n_digits, 1);
    assert_int_equal(plan.digit[0].extent, 64 * 48);
}

static void an_empty_chain_and_a_single_element_are_copies(void **state) {
    (void)state;
    struct cs_plan plan = support_compose(NULL, 0, 8, 3, 7);
    for (int64_t i = 0; i < 21; i++) assert_int_equal(cs_plan_source(&plan, i), i);
    plan = support_compose(NULL, 0, 32, 1, 1);
    assert_int_equal(plan.n_digits, 1);
    assert_int_equal(cs_plan_source(&plan, 0), 0);
}

static void every_row_is_found_by_its_name_and_is_sorted(void **state) {
    (void)state;
    assert_true(cs_n_layouts > 0);
    for (size_t i = 0; i < cs_n_layouts; i++) {
        assert_ptr_equal(cs_layout_by_name(cs_layouts[i].name), &cs_layouts[i]);
        assert_true(i == 0 || strcmp(cs_layouts[i - 1].name, cs_layouts[i].name) < 0);
    }
    assert_null(cs_layout_by_name("shuffle"));
    assert_null(cs_layout_by_name(""));
}

/* ---- errors ---- */

static void assert_refused(const struct cs_layout *layout, int64_t rows, int64_t columns, enum cs_status status,
                           const char *text) {
    struct cs_plan plan;
    assert_int_equal(cs_plan_compose(&plan, &layout, 1, 8, rows, columns), status);
    if (!strstr(cs_error_text(), text)) fail_msg("\"%s\" does not say \"%s\"", cs_error_text(), text);
}

static void what_does_not_divide_names_layout_extent_and_divisor(void **state) {
    (void)state;
    const struct cs_layout *shuffle = cs_layout_by_name("shuffle32");
    assert_refused(shuffle, 200, 16, CS_BAD_SHAPE, "shuffle32: M = 200 is not a multiple of 32");
    assert_refused(cs_layout_by_name("block_major_k"), 2, 100, CS_BAD_SHAPE,
                   "block_major_k: K = 100 is not a multiple of 128");
    assert_refused(shuffle, 0, 16, CS_BAD_SHAPE, "0 x 16");
    assert_refused(shuffle, 32, -1, CS_BAD_SHAPE, "32 x -1");
    assert_refused(shuffle, INT64_C(1) << 40, INT64_C(1) << 40, CS_BAD_SHAPE, "too large");
    assert_refused(shuffle, INT64_MAX, INT64_MAX, CS_BAD_SHAPE, "too large");
    assert_refused(shuffle, INT64_MIN, INT64_MIN, CS_BAD_SHAPE, "has no layout");
    assert_refused(cs_layout_by_name("marlin4"), 64, 16, CS_BAD_TYPE, "marlin4 moves 4-bit elements, not 8-bit");
    assert_refused(&(struct cs_layout){.name = "odd", .view = "M/2 3 K"}, 4, 4, CS_BAD_SHAPE,
                   "does not multiply to M = 4");
    assert_refused(&(struct cs_layout){.name = "mixed", .view = "M/2 K 2"}, 4, 4, CS_BAD_SHAPE, "does not multiply");
}

static void malformed_notation_names_the_word(void **state) {
    (void)state;
    static const uint8_t inverted_twice[32] = {0, 32, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    static const uint8_t beyond[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 95};
    struct {
        struct cs_layout layout;
        const char *text;
    } cases[] = {
        {{.name = "x", .view = "M/0 K"}, "x: extent \"M/0\""},
        {{.name = "x", .view = "M/ K"}, "extent \"M/\""},
        {{.name = "x", .view = "M/-2 2 K"}, "extent \"M/-2\""},
        {{.name = "x", .view = "M*2 K"}, "extent \"M*2\""},
        {{.name = "x", .view = "m K"}, "extent \"m\""},
        {{.name = "x", .view = "M K/99999999999999999999999"}, "extent \"K/99999999999999999999999\""},
        {{.name = "x", .view = "M 0"}, "extent \"0\""},
        {{.name = "x", .view = "M\tK"}, "extent \"M\tK\""},
        {{.name = "x", .view = "\xff\xfe"}, "extent"},
        {{.name = NULL, .view = ""}, "layout: the view is empty"},
        {{.name = "x", .view = NULL}, "the view is empty"},
        {{.name = "x", .view = "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 M K"}, "more than 16 extents"},
        {{.name = "x", .view = "M K", .pad = "128"}, "pad \"128\" needs two numbers"},
        {{.name = "x", .view = "M K", .pad = "1 2 3"}, "more than two numbers"},
        {{.name = "x", .view = "M K", .pad = "0 4"}, "pad \"0\""},
        {{.name = "x", .view = "M K", .pad = "4 x"}, "pad \"x\""},
        {{.name = "x", .view = "M K", .flip = "2"}, "flip \"2\" is not a dimension of the view, which has 0 to 1"},
        {{.name = "x", .view = "M K", .flip = "0 0"}, "flip names dimension 0 twice"},
        {{.name = "x", .view = "M K", .flip = "-1"}, "flip \"-1\""},
        {{.name = "x", .view = "M K", .order = "0"}, "order names 1 of the view's 2 dimensions"},
        {{.name = "x", .view = "M K", .order = "1 1"}, "order names dimension 1 twice"},
        {{.name = "x", .view = "M K", .order = "0 1 2"}, "order \"2\""},
        {{.name = "x", .view = "M K", .word = (const uint8_t[32]){0}}, "x: word sends bit 1 to 0: expected a permutation"},
        {{.name = "x", .view = "M K", .word = inverted_twice}, "x: word sends bit 1 to 32: expected a permutation of 0 to 31, 32 more for bits"},
        {{.name = "x", .view = "M K", .word = beyond}, "x: word sends bit 31 to 95: expected"},
    };
    for (size_t i = 0; i < CS_COUNT(cases); i++) assert_refused(&cases[i].layout, 16, 16, CS_BAD_VALUE, cases[i].text);
}

static void words_come_last_and_stay_within_a_matrix(void **state) {
    (void)state;
    const struct cs_layout *chain[] = {cs_layout_by_name("sm90_fp4"), cs_layout_by_name("shuffle16")};
    struct cs_plan plan;
    assert_int_equal(cs_plan_compose(&plan, chain, 2, 8, 32, 64), CS_UNSUPPORTED);
    assert_string_equal(cs_error_text(), "sm90_fp4 permutes the bits of words, so it must come last in a chain");
    static const uint8_t reverse[32] = {31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                        15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0};
    assert_refused(&(struct cs_layout){.name = "w", .view = "M K", .word = reverse}, 3, 3, CS_BAD_SHAPE, "w: 3 x 3");
}

/* A digit of 192 rows (half of 384) and a tile of 128 have no common refinement: such a chain takes two passes. */
static void extents_that_cross_do_not_compose(void **state) {
    (void)state;
    const struct cs_layout *chain[] = {cs_layout_by_name("swap_halves"), cs_layout_by_name("swizzle_128x4")};
    struct cs_plan plan;
    assert_int_equal(cs_plan_compose(&plan, chain, 2, 8, 384, 8), CS_UNSUPPORTED);
    assert_non_null(strstr(cs_error_text(), "swizzle_128x4 does not compose"));
    assert_int_equal(cs_plan_compose(&plan, chain, 2, 8, 256, 8), CS_OK);
}

static void more_digits_or_pads_than_a_plan_has_are_unsupported(void **state) {
    (void)state;
    struct cs_layout reverse = {
        .name = "bits", .view = "M/4096 2 2 2 2 2 2 2 2 2 2 2 2 K", .order = "12 11 10 9 8 7 6 5 4 3 2 1 0 13"};
    struct cs_layout columns = {
        .name = "more", .view = "M K/4096 2 2 2 2 2 2 2 2 2 2 2 2", .order = "0 13 12 11 10 9 8 7 6 5 4 3 2 1"};
    const struct cs_layout *chain[] = {&reverse, &columns};
    struct cs_plan plan;
    assert_int_equal(cs_plan_compose(&plan, chain, 2, 8, 8192, 8192), CS_UNSUPPORTED);
    assert_non_null(strstr(cs_error_text(), "digits, a plan has 24"));

    static const char *const pads[] = {"2 1", "4 1", "8 1", "16 1", "32 1", "64 1", "128 1", "256 1", "512 1"};
    struct cs_layout pad[CS_COUNT(pads)];
    const struct cs_layout *padding[CS_COUNT(pads)];
    for (size_t i = 0; i < CS_COUNT(pads); i++) {
        pad[i] = (struct cs_layout){.name = "pad", .view = "M K", .pad = pads[i]};
        padding[i] = &pad[i];
    }
    assert_int_equal(cs_plan_compose(&plan, padding, 8, 8, 1, 3), CS_OK);
    assert_int_equal(cs_plan_compose(&plan, padding, 9, 8, 1, 3), CS_UNSUPPORTED);
    struct cs_layout huge = {.name = "huge", .view = "M K", .pad = "1073741824 1073741824"};
    assert_refused(&huge, 1, 1, CS_BAD_SHAPE, "huge: pad");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles_take_rows_in_these_orders),
        cmocka_unit_test(gated_shuffles_take_rows_of_both_halves),
        cmocka_unit_test(halves_and_pairs_swap_and_interleave),
        cmocka_unit_test(the_swizzle_is_this_formula_and_pads_with_zeros),
        cmocka_unit_test(a_transposing_row_exchanges_rows_and_columns),
        cmocka_unit_test(whole_rows_become_one_long_digit),
        cmocka_unit_test(an_empty_chain_and_a_single_element_are_copies),
        cmocka_unit_test(every_row_is_found_by_its_name_and_is_sorted),
        cmocka_unit_test(what_does_not_divide_names_layout_extent_and_divisor),
        cmocka_unit_test(malformed_notation_names_the_word),
        cmocka_unit_test(words_come_last_and_stay_within_a_matrix),
        cmocka_unit_test(extents_that_cross_do_not_compose),
        cmocka_unit_test(more_digits_or_pads_than_a_plan_has_are_unsupported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
