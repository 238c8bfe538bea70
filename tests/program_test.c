/* Programs: arithmetic as data. Expected numbers were worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ref/ref.h"

#define NAN_BITS 0x7FC00000u

static struct cs_storage storage_of(void *data, size_t bytes) {
    return (struct cs_storage){.kind = CS_STORAGE_MEMORY, .id = 1, .bytes = bytes, .data = data};
}

static struct cs_view view_of(struct cs_storage *storage, enum cs_dtype dtype, int ndim, const int64_t *shape) {
    struct cs_view view;
    if (cs_view_make(&view, storage, dtype, ndim, shape) != CS_OK) fail_msg("%s", cs_error_text());
    return view;
}

/* A program over one tensor "x" and perhaps a second one "v", both f32 of one dimension. */
static void run(const char *text, size_t n, const float *x, const float *v, float *result) {
    struct cs_program program;
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    if (cs_program_parse(text, &program, names) != CS_OK) fail_msg("%s: %s", text, cs_error_text());
    struct cs_storage storages[3] = {storage_of((void *)(uintptr_t)x, n * 4), storage_of((void *)(uintptr_t)v, n * 4), storage_of(result, n * 4)};
    const int64_t shape[] = {(int64_t)n};
    program.ndim = 1, program.shape[0] = shape[0];
    for (size_t i = 0; i < program.n_operands; i++)
        program.operand[i] = (struct cs_operand){view_of(&storages[*names[i].start == 'v'], CS_F32, 1, shape), {1}};
    struct cs_view destination = view_of(&storages[2], CS_F32, 1, shape);
    if (cs_device_map(&cs_device_ref, &program, &destination) != CS_OK) fail_msg("%s: %s", text, cs_error_text());
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static void assert_result(const char *text, float x, float v, float expected) {
    float result;
    run(text, 1, &x, &v, &result);
    if (bits_of(result) != bits_of(expected)) fail_msg("%s of %a, %a: expected %a, got %a", text, (double)x, (double)v, (double)expected, (double)result);
}

static void words_compute_from_left_to_right(void **state) {
    (void)state;
    assert_result("x + 2 * 3", 1, 0, 9);
    assert_result("x * v + x", 3, 4, 15);
    assert_result("x / 4", 1, 0, 0.25f);
    assert_result("x into 1", 4, 0, 0.25f);
    assert_result("x abs", -7, 0, 7);
    assert_result("x max 2 min 5", 9, 0, 5);
    assert_result("x if_zero 8", 0, 0, 8);
    assert_result("x zero_below 2", 1.5f, 0, 0);
    assert_result("x zero_below 2", 2, 0, 2);
    assert_result("x log2 ceil exp2", 5, 0, 8);
    assert_result("x log2 floor exp2", 5, 0, 4);
    assert_result("x nearest", 2.5f, 0, 2); /* ties to even */
    assert_result("x exp2", -149, 0, 0x1p-149f);
    assert_result("x exp2", 1e9f, 0, 1.0f / 0.0f);
    assert_result("x exp2", -1e9f, 0, 0);
    assert_result("x bits f16 float", 1, 0, 0x3C00);
    assert_result("x bits f16 float", -65520, 0, 0xFC00); /* beyond the largest: infinity */
    assert_result("x bits bf16 float", 1, 0, 0x3F80);
    assert_result("x bits e4m3 float", 448, 0, 0x7E);
    assert_result("x bits e8m0 float", 2, 0, 128);
    assert_result("x bits e2m1 float", -6, 0, 15);
}

/* (1 + 2^-12)^2 is 1 + 2^-11 + 2^-24; the last term is half a place of f32 and goes to even. A fused multiply-add would keep it. */
static void products_are_rounded_before_sums(void **state) {
    (void)state;
    float x = 1 + 0x1p-12f;
    assert_result("x * v + -0x1.002p0", x, x, 0.0f);
    float exact = (float)((double)x * (double)x - (double)(1 + 0x1p-11f));
    assert_true(exact != 0.0f); /* what a fused one would give */
}

/* 2^24 + 1 is no f32; taking the numbers in another order would give 1. */
static void sums_are_taken_in_their_order(void **state) {
    (void)state;
    assert_result("x + 1 + -0x1p24", 0x1p24f, 0, 0);
    assert_result("x + -0x1p24 + 1", 0x1p24f, 0, 1);
}

static void a_reciprocal_is_not_a_division(void **state) {
    (void)state;
    assert_result("x / 41", 41, 0, 1);
    assert_result("v into 1 * x", 41, 41, 0x1.fffffep-1f); /* 1/41 is rounded down */
}

static void nan_wins_maxima_but_not_those_of_c(void **state) {
    (void)state;
    float nan, result;
    memcpy(&nan, &(uint32_t){NAN_BITS}, 4);
    run("x max 1", 1, &nan, NULL, &result);
    assert_int_equal(bits_of(result), NAN_BITS);
    assert_result("x fmax 1", nan, 0, 1);
    assert_result("x fmin 448", nan, 0, 448);
}

static void rounding_to_a_dtype_and_back(void **state) {
    (void)state;
    assert_result("x as bf16", 1 + 0x1p-8f, 0, 1);                    /* tie to even */
    assert_result("x as f16", 1 + 0x1p-10f, 0, 1 + 0x1p-10f);
    assert_result("x as e4m3", 1000, 0, 448);
    assert_result("x as e2m1", 2.5f, 0, 2);
    assert_result("x as e2m1", 0.75f, 0, 1);
    assert_result("x as e2m1", -5.5f, 0, -6);
    assert_result("x as e2m1 + 0", -0.1f, 0, 0);
}

static void bits_are_integers(void **state) {
    (void)state;
    assert_result("x plus 0x7fffff right 23 left 23", 5, 0, 8); /* the power of two above */
    assert_result("x and 0xff800000", 5, 0, 4);
    assert_result("x xor 0x80000000", 5, 0, -5);
    assert_result("x right 23 float", 1, 0, 127);
    assert_result("x drop 0x7f800000", 1.0f / 0x1p-149f, 0, 0);
}

static void assert_refused(const char *text, const char *said) {
    struct cs_program program;
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    assert_int_equal(cs_program_parse(text, &program, names), CS_BAD_VALUE);
    if (!strstr(cs_error_text(), said)) fail_msg("\"%s\": expected \"%s\" in \"%s\"", text, said, cs_error_text());
}

static void a_malformed_program_names_its_word(void **state) {
    (void)state;
    assert_refused("", "empty");
    assert_refused("x times 2", "no operation \"times\"; it has: load + * / into max");
    static const char *const others[] = {"x as u8", "x as i32", "x as bool", "x as f64", "x bits i64", "x bits u8", "x as", "x bits", "x as bf17", "x as bf"};
    for (size_t i = 0; i < CS_COUNT(others); i++) assert_refused(others[i], "e2m1, e4m3, e5m2, e8m0, bf16, f16 or f32, not \"");
    assert_refused("x *", "ends where an operand");
    assert_refused("a + b + c + d + e + f + g", "more than 6 operands");
    assert_refused("x abs abs abs abs abs abs abs abs abs abs abs abs abs abs abs abs abs abs abs abs abs abs abs abs", "more than 24 instructions");
}

/* ---- several dimensions ---- */

struct matrix {
    struct cs_storage storage;
    struct cs_view view;
};

static void matrix_of(struct matrix *matrix, enum cs_dtype dtype, int64_t rows, int64_t columns, void *data) {
    matrix->storage = storage_of(data, (size_t)(rows * columns * cs_dtype_bits(dtype) / 8));
    matrix->view = view_of(&matrix->storage, dtype, 2, (const int64_t[]){rows, columns});
}

/* 3 x 5 numbers in blocks of 2 x 2, the last of them partial. */
static void maxima_of_blocks_cover_partial_ones(void **state) {
    (void)state;
    float x[15] = {1, 2, 3, 4, 5, -60, 7, 8, 9, 10, 11, 12, 13, 14, -15}, most[6];
    struct matrix in, out;
    struct cs_program program;
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    matrix_of(&in, CS_F32, 3, 5, x);
    matrix_of(&out, CS_F32, 2, 3, most);
    assert_int_equal(cs_program_parse("x abs", &program, names), CS_OK);
    program.ndim = 2, program.shape[0] = 3, program.shape[1] = 5;
    program.operand[0] = (struct cs_operand){in.view, {1, 1}};
    const struct cs_operand destination = {out.view, {2, 2}};
    assert_int_equal(cs_device_maximum(&cs_device_ref, &program, &destination), CS_OK);
    const float expected[6] = {60, 9, 10, 12, 14, 15};
    assert_memory_equal(most, expected, sizeof most);
}

/* The scale of a block of 2 x 2 is read by all its elements; the result goes over the operand. */
static void a_scale_is_shared_by_a_block_and_results_may_go_in_place(void **state) {
    (void)state;
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, scale[2] = {10, 100};
    struct matrix in, scales;
    struct cs_program program;
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    matrix_of(&in, CS_F32, 2, 4, x);
    matrix_of(&scales, CS_F32, 1, 2, scale);
    assert_int_equal(cs_program_parse("x * scale", &program, names), CS_OK);
    program.ndim = 2, program.shape[0] = 2, program.shape[1] = 4;
    program.operand[0] = (struct cs_operand){in.view, {1, 1}};
    program.operand[1] = (struct cs_operand){scales.view, {2, 2}};
    assert_int_equal(cs_device_map(&cs_device_ref, &program, &in.view), CS_OK);
    const float expected[8] = {10, 20, 300, 400, 50, 60, 700, 800};
    assert_memory_equal(x, expected, sizeof x);
    program.operand[1].block[1] = 3; /* 4 columns in blocks of 3 need 2 scales: fits; rows in blocks of 1 need 2: does not */
    program.operand[1].block[0] = 1;
    assert_int_equal(cs_device_map(&cs_device_ref, &program, &in.view), CS_BAD_SHAPE);
}

static void two_e2m1_numbers_share_a_byte_low_nibble_first(void **state) {
    (void)state;
    float x[4] = {0.5f, -1, 6, 0};
    unsigned char packed[2];
    struct matrix in, out;
    struct cs_program program;
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    matrix_of(&in, CS_F32, 1, 4, x);
    matrix_of(&out, CS_E2M1, 1, 4, packed);
    assert_int_equal(cs_program_parse("x", &program, names), CS_OK);
    program.ndim = 2, program.shape[0] = 1, program.shape[1] = 4;
    program.operand[0] = (struct cs_operand){in.view, {1, 1}};
    assert_int_equal(cs_device_map(&cs_device_ref, &program, &out.view), CS_OK);
    assert_int_equal(packed[0], 0xA1);
    assert_int_equal(packed[1], 0x07);
}

static void a_device_without_arithmetic_says_so(void **state) {
    (void)state;
    struct cs_device device = cs_device_ref;
    device.name = "abacus", device.map = NULL;
    float x = 1;
    struct matrix in;
    struct cs_program program;
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    matrix_of(&in, CS_F32, 1, 1, &x);
    assert_int_equal(cs_program_parse("x", &program, names), CS_OK);
    assert_int_equal(cs_device_map(&device, &program, &in.view), CS_UNSUPPORTED);
    assert_non_null(strstr(cs_error_text(), "not supported by abacus"));
}

/* More than a thread's worth: every element is its own result. */
static void large_tensors_give_the_same_numbers(void **state) {
    (void)state;
    enum { N = 1 << 15 };
    static float x[N], result[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    run("x * 2 + 1", N, x, NULL, result);
    for (int i = 0; i < N; i++) assert_true(result[i] == (float)(2 * i + 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_compute_from_left_to_right),
        cmocka_unit_test(products_are_rounded_before_sums),
        cmocka_unit_test(sums_are_taken_in_their_order),
        cmocka_unit_test(a_reciprocal_is_not_a_division),
        cmocka_unit_test(nan_wins_maxima_but_not_those_of_c),
        cmocka_unit_test(rounding_to_a_dtype_and_back),
        cmocka_unit_test(bits_are_integers),
        cmocka_unit_test(a_malformed_program_names_its_word),
        cmocka_unit_test(maxima_of_blocks_cover_partial_ones),
        cmocka_unit_test(a_scale_is_shared_by_a_block_and_results_may_go_in_place),
        cmocka_unit_test(two_e2m1_numbers_share_a_byte_low_nibble_first),
        cmocka_unit_test(a_device_without_arithmetic_says_so),
        cmocka_unit_test(large_tensors_give_the_same_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
