/* Conversion by value. Expected bits were captured from torch 2.14 on a CPU (cast_* cases), or follow IEEE 754 by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ref/ref.h"

static struct cs_view view_over(struct cs_storage *storage, void *data, enum cs_dtype dtype, int64_t n) {
    struct cs_view view;
    *storage = (struct cs_storage){.kind = CS_STORAGE_MEMORY, .bytes = (size_t)n * 8, .data = data, .label = "t"};
    assert_int_equal(cs_view_make(&view, storage, dtype, 1, &n), CS_OK);
    return view;
}

static uint64_t converted(enum cs_dtype to, enum cs_dtype from, uint64_t bits) {
    uint64_t result = 0;
    struct cs_storage storage[2];
    struct cs_view source = view_over(&storage[0], &bits, from, 1), destination = view_over(&storage[1], &result, to, 1);
    assert_int_equal(cs_ref_convert(&cs_device_ref, &destination, &source), CS_OK);
    return result;
}

struct row { uint64_t from, to; };

static void assert_rows(enum cs_dtype from, enum cs_dtype to, const struct row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) assert_int_equal(converted(to, from, rows[i].from), rows[i].to);
}
#define ASSERT_ROWS(from, to, ...)                                                                                     \
    assert_rows(from, to, (const struct row[]){__VA_ARGS__}, sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))

static void f32_becomes_e4m3_as_torch_does(void **state) {
    (void)state;
    ASSERT_ROWS(CS_F32, CS_E4M3, {0x00000000, 0x00}, {0x80000000, 0x80}, {0x3f800000, 0x38}, {0xbf800000, 0xb8},
                {0x3d820000, 0x18}, {0x43df8000, 0x7e}, {0x43e00000, 0x7e}, {0x43e80000, 0x7e}, {0x43f00000, 0x7e},
                {0x4e6e6b28, 0x7e}, {0xce6e6b28, 0xfe}, {0x7f800000, 0x7e}, {0xff800000, 0xfe}, {0x7fc00000, 0x7f},
                {0xffc00000, 0xff}, {0x3a800000, 0x00}, {0xba800000, 0x80}, {0x3b400000, 0x02}, {0x3ba00000, 0x02},
                {0x3a800001, 0x01}, {0x3b000000, 0x01}, {0x3c800000, 0x08}, {0x3c700000, 0x08}, {0x3c500000, 0x06},
                {0x800116c2, 0x80}, {0x3f880000, 0x38}, {0x3f980000, 0x3a}, {0x3fa80000, 0x3a}, {0x41880000, 0x58},
                {0x41980000, 0x5a}, {0x43680000, 0x76}, {0x43780000, 0x78}, {0x3e99999a, 0x2a}, {0xbf2aaaab, 0xb3});
    ASSERT_ROWS(CS_BF16, CS_E4M3, {0x447a, 0x7e}, {0xc47a, 0xfe}, {0xffff, 0xff}); /* 1000.0 */
}

/* Two ways to round: the device's by the bits of an f32, cs_dtype_encode's by arithmetic. */
static void f32_becomes_e4m3_as_its_encoding_says(void **state) {
    (void)state;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 65521) {
        uint64_t expected;
        assert_int_equal(cs_dtype_encode(CS_E4M3, cs_dtype_decode(CS_F32, bits), &expected), CS_OK);
        assert_int_equal(converted(CS_E4M3, CS_F32, bits), expected);
    }
}

static void e4m3_widens_as_torch_does_nan_included(void **state) {
    (void)state;
    ASSERT_ROWS(CS_E4M3, CS_F32, {0x00, 0}, {0x01, 0x3b000000}, {0x38, 0x3f800000}, {0x7e, 0x43e00000}, {0x7f, 0x7ff00000},
                {0xff, 0xfff00000}, {0x80, 0x80000000});
    ASSERT_ROWS(CS_E4M3, CS_BF16, {0x01, 0x3b00}, {0x7f, 0x7fc0}, {0xff, 0x7fc0});
    ASSERT_ROWS(CS_E4M3, CS_F16, {0x01, 0x1800}, {0x7f, 0x7f80}, {0xff, 0xff80});
}

static void e8m0_takes_the_exponent_and_rounds_it(void **state) {
    (void)state;
    ASSERT_ROWS(CS_F32, CS_E8M0, {0x00000000, 0}, {0xbf800000, 127}, {0x3fb33333, 127}, {0x3fc00000, 128}, {0x3fc147ae, 128},
                {0x403f5c29, 128}, {0x40400000, 129}, {0x00400000, 0}, {0x00200000, 0}, {0x00600000, 1}, {0x00800000, 1},
                {0x7f400000, 255}, {0x7f800000, 255}, {0x7fc00000, 255}, {0xc0a00000, 129}, {0x4c4f800a, 153});
    ASSERT_ROWS(CS_E8M0, CS_F32, {0, 0x00400000}, {1, 0x00800000}, {127, 0x3f800000}, {254, 0x7f000000}, {255, 0x7f800001});
    ASSERT_ROWS(CS_E8M0, CS_BF16, {0, 0x0040}, {1, 0x0080}, {254, 0x7f00}, {255, 0x7fc0});
    ASSERT_ROWS(CS_E8M0, CS_F16, {102, 0}, {103, 1}, {127, 0x3c00}, {142, 0x7800}, {143, 0x7c00}, {255, 0x7e00});
}

static void bf16_to_f32_is_a_shift(void **state) {
    (void)state;
    for (uint64_t bits = 0; bits < 0x10000; bits += 7) assert_int_equal(converted(CS_F32, CS_BF16, bits), bits << 16);
    ASSERT_ROWS(CS_BF16, CS_F32, {0x7f81, 0x7f810000}, {0xffff, 0xffff0000}); /* even a signalling NaN */
}

static void f32_to_bf16_rounds_to_even_and_nan_is_all_ones(void **state) {
    (void)state;
    ASSERT_ROWS(CS_F32, CS_BF16, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81}, {0x7f7fffff, 0x7f80},
                {0xff800000, 0xff80}, {0x7fc00000, 0xffff}, {0x7f800001, 0xffff}, {0x00000001, 0}, {0x00008001, 1});
}

static void f16_and_e5m2_keep_a_quiet_nan(void **state) {
    (void)state;
    ASSERT_ROWS(CS_F16, CS_F32, {0x3c00, 0x3f800000}, {0x0001, 0x33800000}, {0x7c00, 0x7f800000}, {0xfc00, 0xff800000},
                {0x7c01, 0x7fc02000}, {0x7e00, 0x7fc00000});
    ASSERT_ROWS(CS_F32, CS_F16, {0x477fe000, 0x7bff}, {0x477ff000, 0x7c00}, {0x33000000, 0}, {0x33000001, 1}, {0xffc00000, 0xfe00});
    ASSERT_ROWS(CS_E5M2, CS_F32, {0x3c, 0x3f800000}, {0x7c, 0x7f800000}, {0x7f, 0x7fe00000}, {0x01, 0x37800000});
    ASSERT_ROWS(CS_F32, CS_E5M2, {0x47700000, 0x7c}, {0x476fffff, 0x7b}, {0x7f800000, 0x7c}, {0xff800001, 0xff});
}

static uint64_t f64_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

/* As torch: 1 + 2^-8 + 2^-40 first becomes the f32 1 + 2^-8, which is a tie. */
static void f64_passes_through_f32(void **state) {
    (void)state;
    assert_int_equal(converted(CS_F32, CS_F64, f64_bits(0.1)), 0x3dcccccd);
    assert_int_equal(converted(CS_F32, CS_F64, f64_bits(1e39)), 0x7f800000);
    assert_int_equal(converted(CS_BF16, CS_F64, f64_bits(1 + 0x1p-8 + 0x1p-40)), 0x3f80);
    assert_true(converted(CS_F64, CS_BF16, 0x3fc0) == f64_bits(1.5));
    assert_true(converted(CS_F64, CS_F32, 0x00000001) == f64_bits(0x1p-149));
}

static void floats_become_integers_by_truncation_and_wrapping(void **state) {
    (void)state;
    assert_int_equal(converted(CS_U8, CS_F32, 0x43960000), 44); /* 300.0 */
    assert_int_equal(converted(CS_U8, CS_F32, 0xbf800000), 255);
    assert_int_equal(converted(CS_I8, CS_F32, 0xbfc00000), 0xFF);      /* -1.5 → -1 */
    assert_int_equal(converted(CS_I32, CS_BF16, 0xc2c8), 0xFFFFFF9C);  /* -100 */
    assert_int_equal(converted(CS_BOOL, CS_F32, 0x00000001), 1);
    assert_int_equal(converted(CS_BOOL, CS_F32, 0x80000000), 0);
    assert_int_equal(converted(CS_BOOL, CS_F32, 0x7fc00000), 1);
    assert_int_equal(converted(CS_U8, CS_F32, 0x7fc00000), 0);
    assert_true(converted(CS_I64, CS_F64, f64_bits(1e300)) == UINT64_C(1) << 63);
    assert_true(converted(CS_I64, CS_F64, f64_bits(-0x1p63)) == UINT64_C(1) << 63);
    assert_true(converted(CS_U64, CS_F64, f64_bits(0x1.8p63)) == UINT64_C(3) << 62);
}

static void integers_convert_exactly_or_wrap(void **state) {
    (void)state;
    assert_int_equal(converted(CS_F32, CS_U8, 255), 0x437f0000);
    assert_int_equal(converted(CS_F32, CS_I8, 0x80), 0xc3000000);
    assert_int_equal(converted(CS_BF16, CS_I32, 257), 0x4380); /* tie to even: 256 */
    assert_int_equal(converted(CS_E4M3, CS_I32, 1000), 0x7e);
    assert_int_equal(converted(CS_E8M0, CS_U8, 128), 134);
    assert_int_equal(converted(CS_I64, CS_I8, 0xFF) + 1, 0);
    assert_int_equal(converted(CS_U8, CS_I32, 0x1234), 0x34);
    assert_int_equal(converted(CS_BOOL, CS_I32, 256), 1);
    assert_int_equal(converted(CS_U16, CS_BOOL, 1), 1);
    assert_int_equal(converted(CS_F32, CS_I64, (UINT64_C(1) << 54) + (UINT64_C(1) << 30) + 1), 0x5a800001); /* one rounding only */
    assert_true(converted(CS_F64, CS_U64, UINT64_C(3) << 62) == f64_bits(0x1.8p63));
    assert_int_equal(converted(CS_F32, CS_U64, UINT64_MAX), 0x5f800000);
}

static void fp4_is_not_converted(void **state) {
    (void)state;
    uint64_t data[2] = {0};
    struct cs_storage storage[2];
    struct cs_view a = view_over(&storage[0], &data[0], CS_E2M1, 1), b = view_over(&storage[1], &data[1], CS_BF16, 1);
    assert_int_equal(cs_ref_convert(&cs_device_ref, &a, &b), CS_UNSUPPORTED);
    assert_string_equal(cs_error_text(), "ref: converting bf16 to e2m1 is not supported");
    assert_int_equal(cs_ref_convert(&cs_device_ref, &b, &a), CS_UNSUPPORTED);
}

/* Element by element there is no table, no fast path and no thread. */
static void a_large_strided_tensor_converts_like_its_elements(void **state) {
    (void)state;
    enum { N = 3 * 1000, STEP = 3 };
    uint64_t *in = malloc(STEP * N * 8), *out = malloc(STEP * N * 8);
    for (uint64_t i = 0; i < STEP * N; i++) in[i] = cs_mix64(i);
    for (int from = 0; from < CS_N_DTYPES; from++)
        for (int to = 0; to < CS_N_DTYPES; to++) {
            if (from == to || from == CS_E2M1 || to == CS_E2M1) continue;
            struct cs_storage storage[2];
            struct cs_view a = view_over(&storage[0], in, (enum cs_dtype)from, STEP * N);
            struct cs_view b = view_over(&storage[1], out, (enum cs_dtype)to, N);
            a.shape[0] = N;
            a.stride[0] = STEP;
            assert_int_equal(cs_ref_convert(&cs_device_ref, &b, &a), CS_OK);
            size_t in_bytes = (size_t)cs_dtype_bits((enum cs_dtype)from) / 8, out_bytes = (size_t)cs_dtype_bits((enum cs_dtype)to) / 8;
            for (size_t i = 0; i < N; i++) {
                uint64_t bits = 0, got = 0;
                memcpy(&bits, (char *)in + i * STEP * in_bytes, in_bytes);
                memcpy(&got, (char *)out + i * out_bytes, out_bytes);
                assert_int_equal(got, converted((enum cs_dtype)to, (enum cs_dtype)from, bits));
            }
        }
    free(in);
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_becomes_e4m3_as_torch_does),
        cmocka_unit_test(f32_becomes_e4m3_as_its_encoding_says),
        cmocka_unit_test(e4m3_widens_as_torch_does_nan_included),
        cmocka_unit_test(e8m0_takes_the_exponent_and_rounds_it),
        cmocka_unit_test(bf16_to_f32_is_a_shift),
        cmocka_unit_test(f32_to_bf16_rounds_to_even_and_nan_is_all_ones),
        cmocka_unit_test(f16_and_e5m2_keep_a_quiet_nan),
        cmocka_unit_test(f64_passes_through_f32),
        cmocka_unit_test(floats_become_integers_by_truncation_and_wrapping),
        cmocka_unit_test(integers_convert_exactly_or_wrap),
        cmocka_unit_test(fp4_is_not_converted),
        cmocka_unit_test(a_large_strided_tensor_converts_like_its_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
