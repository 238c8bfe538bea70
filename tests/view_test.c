#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim/tensor/tensor.h"

#define VIEW(storage, dtype, ...)                                                                                      \
    view_of(storage, dtype, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static struct cs_view view_of(struct cs_storage *storage, enum cs_dtype dtype, size_t ndim, const int64_t *shape) {
    struct cs_view view;
    assert_int_equal(cs_view_make(&view, storage, dtype, (int)ndim, shape), CS_OK);
    return view;
}

static void a_made_view_is_row_major(void **state) {
    (void)state;
    struct cs_view v = VIEW(NULL, CS_BF16, 2, 3, 4);
    assert_int_equal(v.stride[0], 12);
    assert_int_equal(v.stride[1], 4);
    assert_int_equal(v.stride[2], 1);
    assert_int_equal(cs_view_numel(&v), 24);
    assert_int_equal(cs_view_span_bytes(&v), 48);
    assert_true(cs_view_is_contiguous(&v));
    struct cs_view scalar;
    assert_int_equal(cs_view_make(&scalar, NULL, CS_F32, 0, NULL), CS_OK);
    assert_int_equal(cs_view_numel(&scalar), 1);
    assert_int_equal(cs_view_span_bytes(&scalar), 4);
}

static void impossible_shapes_are_refused(void **state) {
    (void)state;
    struct cs_view v;
    assert_int_equal(cs_view_make(&v, NULL, CS_U8, 2, (int64_t[]){3, -1}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_make(&v, NULL, CS_U8, 7, (int64_t[]){1, 1, 1, 1, 1, 1, 1}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_make(&v, NULL, CS_U8, -1, NULL), CS_BAD_SHAPE);
    assert_int_equal(cs_view_make(&v, NULL, CS_U8, 2, (int64_t[]){INT64_MAX, 2}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_make(&v, NULL, CS_U8, 1, (int64_t[]){INT64_MIN}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_make(&v, NULL, CS_U8, 3, (int64_t[]){0, INT64_MAX, INT64_MAX}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_make(&v, NULL, CS_F64, 1, (int64_t[]){INT64_MAX}), CS_OK);
    assert_true(cs_view_span_bytes(&v) == SIZE_MAX); /* 2^66 bytes */
}

static void four_bit_views_round_up_to_bytes(void **state) {
    (void)state;
    struct cs_view v = VIEW(NULL, CS_E2M1, 3, 5);
    assert_int_equal(cs_view_span_bytes(&v), 8);
    assert_int_equal(cs_view_narrow(&v, 0, 1, 1), CS_OK);
    assert_int_equal(v.offset, 5);
    assert_int_equal(cs_view_byte_offset(&v), 2);
    assert_int_equal(cs_view_span_bytes(&v), 3);
}

static void narrowing_keeps_strides(void **state) {
    (void)state;
    struct cs_view v = VIEW(NULL, CS_BF16, 4, 6);
    assert_int_equal(cs_view_narrow(&v, 1, 2, 3), CS_OK);
    assert_int_equal(cs_view_narrow(&v, 0, 1, 2), CS_OK);
    assert_int_equal(v.offset, 8);
    assert_int_equal(cs_view_byte_offset(&v), 16);
    assert_int_equal(v.shape[0], 2);
    assert_int_equal(v.shape[1], 3);
    assert_false(cs_view_is_contiguous(&v));
    assert_int_equal(cs_view_span_bytes(&v), 18); /* elements 8 … 16 */
    assert_int_equal(cs_view_narrow(&v, 1, 3, 0), CS_OK);
    assert_int_equal(cs_view_span_bytes(&v), 0);
    assert_true(cs_view_is_contiguous(&v));
}

static void narrowing_outside_is_refused_by_name(void **state) {
    (void)state;
    struct cs_view v = VIEW(NULL, CS_U8, 4, 6), before = v;
    assert_int_equal(cs_view_narrow(&v, 0, 3, 2), CS_BAD_INDEX);
    assert_string_equal(cs_error_text(), "narrow: start 3 + length 2 exceeds extent 4 of dimension 0");
    assert_int_equal(cs_view_narrow(&v, 0, -1, 1), CS_BAD_INDEX);
    assert_int_equal(cs_view_narrow(&v, 0, 5, 0), CS_BAD_INDEX);
    assert_int_equal(cs_view_narrow(&v, 0, 1, INT64_MAX), CS_BAD_INDEX);
    assert_int_equal(cs_view_narrow(&v, 0, INT64_MIN, INT64_MIN), CS_BAD_INDEX);
    assert_int_equal(cs_view_narrow(&v, 2, 0, 1), CS_BAD_INDEX);
    assert_int_equal(cs_view_narrow(&v, -1, 0, 1), CS_BAD_INDEX);
    assert_memory_equal(&v, &before, sizeof v);
    v.stride[0] = INT64_MAX;
    assert_int_equal(cs_view_narrow(&v, 0, 2, 1), CS_BAD_INDEX);
}

static void selecting_drops_a_dimension(void **state) {
    (void)state;
    struct cs_view v = VIEW(NULL, CS_U8, 2, 3, 4);
    assert_int_equal(cs_view_select(&v, 1, 2), CS_OK);
    assert_int_equal(v.ndim, 2);
    assert_int_equal(v.shape[0], 2);
    assert_int_equal(v.shape[1], 4);
    assert_int_equal(v.stride[0], 12);
    assert_int_equal(v.stride[1], 1);
    assert_int_equal(v.offset, 8);
    assert_int_equal(cs_view_select(&v, 0, 2), CS_BAD_INDEX);
    assert_string_equal(cs_error_text(), "select: index 2 of dimension 0, which has 2");
    assert_int_equal(cs_view_select(&v, 0, -1), CS_BAD_INDEX);
    assert_int_equal(cs_view_select(&v, 2, 0), CS_BAD_INDEX);
}

static void reshaping_follows_torch(void **state) {
    (void)state;
    struct cs_view v = VIEW(NULL, CS_U8, 4, 6);
    assert_int_equal(cs_view_reshape(&v, 3, (int64_t[]){2, -1, 3}), CS_OK);
    assert_int_equal(v.shape[1], 4);
    assert_int_equal(v.stride[0], 12);
    assert_int_equal(cs_view_reshape(&v, 1, (int64_t[]){23}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_reshape(&v, 2, (int64_t[]){-1, 5}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_reshape(&v, 2, (int64_t[]){-1, -1}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_reshape(&v, 2, (int64_t[]){-2, -12}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_reshape(&v, 2, (int64_t[]){INT64_MAX, INT64_MAX}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_reshape(&v, 7, (int64_t[]){24, 1, 1, 1, 1, 1, 1}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_narrow(&v, 1, 0, 2), CS_OK);
    assert_int_equal(cs_view_reshape(&v, 1, (int64_t[]){12}), CS_BAD_SHAPE); /* gaps */
    struct cs_view empty = VIEW(NULL, CS_U8, 0, 6);
    assert_int_equal(cs_view_reshape(&empty, 2, (int64_t[]){-1, 0}), CS_BAD_SHAPE);
    assert_int_equal(cs_view_reshape(&empty, 2, (int64_t[]){3, -1}), CS_OK);
    assert_int_equal(empty.shape[1], 0);
}

static void reshaping_keeps_the_offset(void **state) {
    (void)state;
    struct cs_view v = VIEW(NULL, CS_U8, 4, 6);
    assert_int_equal(cs_view_narrow(&v, 0, 2, 2), CS_OK);
    assert_int_equal(cs_view_reshape(&v, 1, (int64_t[]){12}), CS_OK);
    assert_int_equal(v.offset, 12);
}

static void only_dtypes_of_equal_width_are_views_of_each_other(void **state) {
    (void)state;
    struct cs_view v = VIEW(NULL, CS_U8, 4);
    assert_int_equal(cs_view_as(&v, CS_E8M0), CS_OK);
    assert_int_equal(v.dtype, CS_E8M0);
    assert_int_equal(cs_view_as(&v, CS_BF16), CS_BAD_TYPE);
    assert_string_equal(cs_error_text(), "view: e8m0 has 8 bits, bf16 has 16: only dtypes of the same width");
}

static void places_and_layouts_are_told_apart(void **state) {
    (void)state;
    struct cs_storage one = {.bytes = 100}, two = {.bytes = 100};
    struct cs_view a = VIEW(&one, CS_U8, 4, 6), b = a;
    assert_true(cs_view_same_place(&a, &b));
    b.storage = &two;
    assert_false(cs_view_same_place(&a, &b));
    assert_true(cs_view_same_layout(&a, &b));
    b.stride[0] = 8;
    assert_false(cs_view_same_layout(&a, &b));
    assert_true(cs_view_same_shape(&a, &b));
    b = a;
    b.dtype = CS_I8;
    assert_false(cs_view_same_layout(&a, &b));
    b = a;
    b.offset = 1;
    assert_false(cs_view_same_place(&a, &b));
    struct cs_view c = VIEW(&one, CS_U8, 4, 6, 1);
    assert_false(cs_view_same_shape(&a, &c));
}

static void an_extent_of_one_has_no_say_in_contiguity(void **state) {
    (void)state;
    struct cs_view v = VIEW(NULL, CS_U8, 3, 1, 5);
    v.stride[1] = 999;
    assert_true(cs_view_is_contiguous(&v));
    v.stride[0] = 6;
    assert_false(cs_view_is_contiguous(&v));
}

/* Rows 2 … 5 and columns 1 … 3 of a 7 × 5 matrix at element 10; element (1, 2) is at 10 + 3·5 + 3. */
static void an_element_has_coordinates_and_a_position(void **state) {
    (void)state;
    struct cs_view v = VIEW(NULL, CS_U8, 7, 5);
    v.offset = 10;
    cs_view_narrow(&v, 0, 2, 4);
    cs_view_narrow(&v, 1, 1, 3);
    int64_t at[2];
    cs_view_unravel(&v, 5, at);
    assert_int_equal(at[0], 1);
    assert_int_equal(at[1], 2);
    assert_int_equal(cs_view_element(&v, 5), 10 + 3 * 5 + 3);
}

static void assert_find_inverts_element(const struct cs_view *v, int64_t limit) {
    for (int64_t position = 0; position < limit; position++) {
        int64_t expected = -1;
        for (int64_t i = 0; i < cs_view_numel(v); i++)
            if (cs_view_element(v, i) == position) expected = i;
        assert_int_equal(cs_view_find(v, position), expected);
    }
}

static void finding_is_the_inverse_of_element(void **state) {
    (void)state;
    struct cs_view v = VIEW(NULL, CS_U8, 4, 3, 5);
    assert_find_inverts_element(&v, 70);
    cs_view_narrow(&v, 1, 1, 2);
    cs_view_narrow(&v, 2, 1, 3);
    assert_find_inverts_element(&v, 70);
    struct cs_view transposed = {.dtype = CS_U8, .ndim = 2, .offset = 3, .shape = {3, 4}, .stride = {1, 3}};
    assert_find_inverts_element(&transposed, 20);
    struct cs_view woven = {.dtype = CS_U8, .ndim = 2, .shape = {2, 3}, .stride = {3, 2}}; /* 0 2 4 3 5 7 */
    assert_find_inverts_element(&woven, 10);
    struct cs_view unit = {.dtype = CS_U8, .ndim = 3, .shape = {1, 3, 1}, .stride = {0, 4, 0}};
    assert_find_inverts_element(&unit, 12);
    struct cs_view empty = VIEW(NULL, CS_U8, 0, 3);
    assert_find_inverts_element(&empty, 3);
}

static void a_view_must_stay_inside_its_storage(void **state) {
    (void)state;
    struct cs_storage storage = {.bytes = 24, .label = "w13_weight"};
    struct cs_view v = VIEW(&storage, CS_BF16, 3, 4);
    assert_int_equal(cs_view_check(&v), CS_OK);
    v.offset = 1;
    assert_int_equal(cs_view_check(&v), CS_BAD_INDEX);
    assert_string_equal(cs_error_text(), "bf16[3, 4] at element 1 reaches beyond w13_weight, which has 24 bytes");
    v.offset = -1;
    assert_int_equal(cs_view_check(&v), CS_BAD_INDEX);
    v.offset = INT64_MAX;
    assert_int_equal(cs_view_check(&v), CS_BAD_INDEX);
    v = VIEW(&storage, CS_BF16, 3, 4);
    v.stride[0] = INT64_MAX;
    assert_int_equal(cs_view_check(&v), CS_BAD_INDEX);
    v.stride[0] = -4;
    assert_int_equal(cs_view_check(&v), CS_BAD_INDEX);
    v.shape[0] = -1;
    assert_int_equal(cs_view_check(&v), CS_BAD_SHAPE);
    v = VIEW(&storage, CS_F64, 0, 4);
    v.offset = 1000; /* empty: touches nothing */
    assert_int_equal(cs_view_check(&v), CS_OK);
    v = VIEW(&storage, CS_E2M1, 48);
    assert_int_equal(cs_view_check(&v), CS_OK);
    v = VIEW(&storage, CS_E2M1, 49);
    assert_int_equal(cs_view_check(&v), CS_BAD_INDEX);
}

static void a_view_has_a_text(void **state) {
    (void)state;
    char text[CS_VIEW_TEXT];
    struct cs_view v = VIEW(NULL, CS_U8, 32, 6144, 1536), scalar = {.dtype = CS_F32};
    assert_string_equal(cs_view_text(&v, text), "u8[32, 6144, 1536]");
    assert_string_equal(cs_view_text(&scalar, text), "f32[]");
    struct cs_view longest = {.dtype = CS_BF16, .ndim = CS_NDIM};
    for (int d = 0; d < CS_NDIM; d++) longest.shape[d] = INT64_MIN;
    assert_true(strlen(cs_view_text(&longest, text)) < CS_VIEW_TEXT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_made_view_is_row_major),
        cmocka_unit_test(impossible_shapes_are_refused),
        cmocka_unit_test(four_bit_views_round_up_to_bytes),
        cmocka_unit_test(narrowing_keeps_strides),
        cmocka_unit_test(narrowing_outside_is_refused_by_name),
        cmocka_unit_test(selecting_drops_a_dimension),
        cmocka_unit_test(reshaping_follows_torch),
        cmocka_unit_test(reshaping_keeps_the_offset),
        cmocka_unit_test(only_dtypes_of_equal_width_are_views_of_each_other),
        cmocka_unit_test(places_and_layouts_are_told_apart),
        cmocka_unit_test(an_extent_of_one_has_no_say_in_contiguity),
        cmocka_unit_test(an_element_has_coordinates_and_a_position),
        cmocka_unit_test(finding_is_the_inverse_of_element),
        cmocka_unit_test(a_view_must_stay_inside_its_storage),
        cmocka_unit_test(a_view_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
