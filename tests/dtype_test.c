#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim/tensor/tensor.h"

static uint64_t encoded(enum cs_dtype dtype, double value) {
    uint64_t bits = 0xDEAD;
    assert_int_equal(cs_dtype_encode(dtype, value, &bits), CS_OK);
    return bits;
}

static void dtypes_have_names_widths_and_kinds(void **state) {
    (void)state;
    assert_string_equal(cs_dtype_name(CS_BF16), "bf16");
    assert_string_equal(cs_dtype_safetensors(CS_E4M3), "F8_E4M3");
    assert_string_equal(cs_dtype_torch(CS_E8M0), "float8_e8m0fnu");
    assert_int_equal(cs_dtype_bits(CS_E2M1), 4);
    assert_int_equal(cs_dtype_bits(CS_F64), 64);
    assert_true(cs_dtype_is_floating(CS_E5M2));
    assert_false(cs_dtype_is_floating(CS_U64));
}

static void every_name_of_every_dtype_parses(void **state) {
    (void)state;
    for (int i = 0; i < CS_N_DTYPES; i++) {
        const char *names[] = {cs_dtype_name((enum cs_dtype)i), cs_dtype_safetensors((enum cs_dtype)i),
                               cs_dtype_torch((enum cs_dtype)i)};
        for (size_t j = 0; j < CS_COUNT(names); j++) {
            enum cs_dtype dtype = CS_N_DTYPES;
            assert_int_equal(cs_dtype_parse(names[j], &dtype), CS_OK);
            assert_int_equal(dtype, i);
        }
    }
}

static void an_unknown_name_hears_the_nearest_one(void **state) {
    (void)state;
    enum cs_dtype dtype = CS_U8;
    assert_int_equal(cs_dtype_parse("bflot16", &dtype), CS_BAD_TYPE);
    assert_string_equal(cs_error_text(), "\"bflot16\" is not a dtype: did you mean \"bfloat16\"?");
    assert_int_equal(cs_dtype_parse("", &dtype), CS_BAD_TYPE);
    assert_int_equal(cs_dtype_parse("quantised to something", &dtype), CS_BAD_TYPE);
    assert_non_null(strstr(cs_error_text(), "write a name such as"));
    assert_int_equal(dtype, CS_U8);
}

/* torch 2.14: every finite overflow and infinity become 448; 464 and 447 round to it. */
static void e4m3_rounds_to_even_and_saturates(void **state) {
    (void)state;
    static const struct { double value; uint8_t bits; } rows[] = {
        {0.0, 0x00}, {-0.0, 0x80}, {1.0, 0x38}, {-1.0, 0xB8}, {0.0634765625, 0x18}, {447, 0x7E}, {464, 0x7E},
        {1e9, 0x7E}, {-1e9, 0xFE}, {INFINITY, 0x7E}, {-INFINITY, 0xFE}, {448, 0x7E}, {1e300, 0x7E},
        {0x1p-10, 0x00}, {0x1.8p-9, 0x02}, {0.0009765626, 0x01}, {-0x1p-10, 0x80}, {0x1p-9, 0x01}, {0x1.8p-7, 0x06},
        {0x1p-6, 0x08}, {0x1.fp-7, 0x08}, /* the largest tie below the normals carries into them */
        {17, 0x58}, {19, 0x5A}, {25, 0x5C}, {432, 0x7E}, {431, 0x7D}, {416, 0x7D},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) assert_int_equal(encoded(CS_E4M3, rows[i].value), rows[i].bits);
    assert_int_equal(encoded(CS_E4M3, (double)NAN), 0x7F);
    assert_int_equal(encoded(CS_E4M3, -(double)NAN), 0xFF);
}

static void e5m2_overflows_to_infinity(void **state) {
    (void)state;
    assert_int_equal(encoded(CS_E5M2, 1.0), 0x3C);
    assert_int_equal(encoded(CS_E5M2, 57344), 0x7B);
    assert_int_equal(encoded(CS_E5M2, 61439), 0x7B);
    assert_int_equal(encoded(CS_E5M2, 61440), 0x7C); /* tie to even, which is beyond */
    assert_int_equal(encoded(CS_E5M2, -INFINITY), 0xFC);
    assert_int_equal(encoded(CS_E5M2, (double)NAN), 0x7F);
    assert_int_equal(encoded(CS_E5M2, 0x1p-16), 0x01);
}

static void e2m1_has_eight_magnitudes_and_saturates(void **state) {
    (void)state;
    static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    for (unsigned i = 0; i < 8; i++) {
        assert_true(cs_dtype_decode(CS_E2M1, i) == values[i]);
        assert_true(cs_dtype_decode(CS_E2M1, i + 8) == -values[i]);
        assert_int_equal(encoded(CS_E2M1, -values[i]), i + 8);
    }
    static const struct { double value; uint8_t bits; } ties[] = {
        {0.25, 0}, {0.26, 1}, {0.75, 2}, {1.25, 2}, {1.75, 4}, {2.5, 4}, {3.5, 6}, {5, 6}, {5.1, 7}, {1e9, 7}, {-INFINITY, 15}};
    for (size_t i = 0; i < CS_COUNT(ties); i++) assert_int_equal(encoded(CS_E2M1, ties[i].value), ties[i].bits);
    uint64_t bits;
    assert_int_equal(cs_dtype_encode(CS_E2M1, (double)NAN, &bits), CS_BAD_VALUE);
}

static void e8m0_holds_powers_of_two_only(void **state) {
    (void)state;
    assert_int_equal(encoded(CS_E8M0, 1.0), 127);
    assert_int_equal(encoded(CS_E8M0, 0x1p-127), 0);
    assert_int_equal(encoded(CS_E8M0, 0x1p127), 254);
    assert_int_equal(encoded(CS_E8M0, (double)NAN), 255);
    assert_true(isnan(cs_dtype_decode(CS_E8M0, 255)));
    const double bad[] = {0, -1, 3, 0x1p128, 0x1p-128, INFINITY};
    uint64_t bits;
    for (size_t i = 0; i < CS_COUNT(bad); i++) assert_int_equal(cs_dtype_encode(CS_E8M0, bad[i], &bits), CS_BAD_VALUE);
}

static void wider_floats_round_to_nearest_even(void **state) {
    (void)state;
    assert_int_equal(encoded(CS_BF16, 1.0), 0x3F80);
    assert_int_equal(encoded(CS_BF16, 1 + 0x1p-8), 0x3F80);              /* tie, down to even */
    assert_int_equal(encoded(CS_BF16, 1 + 0x3p-8), 0x3F82);              /* tie, up to even */
    assert_int_equal(encoded(CS_BF16, 1 + 0x1p-8 + 0x1p-40), 0x3F81);    /* no second rounding through f32 */
    assert_int_equal(encoded(CS_BF16, 3.4e38), 0x7F80);
    assert_int_equal(encoded(CS_F16, 65504), 0x7BFF);
    assert_int_equal(encoded(CS_F16, 65519), 0x7BFF);
    assert_int_equal(encoded(CS_F16, 65520), 0x7C00);
    assert_int_equal(encoded(CS_F16, 0x1p-24), 0x0001);
    assert_int_equal(encoded(CS_F16, 0x1p-25), 0x0000);
    assert_int_equal(encoded(CS_F16, 5e-324), 0x0000);
    assert_int_equal(encoded(CS_F32, 1e-45), 0x00000001);
    assert_int_equal(encoded(CS_F32, 1e39), 0x7F800000);
    assert_true(encoded(CS_F64, -5e-324) == UINT64_C(0x8000000000000001));
    assert_true(encoded(CS_F64, 1.7976931348623157e308) == UINT64_C(0x7FEFFFFFFFFFFFFF));
}

static void the_nan_of_each_dtype_is_known(void **state) {
    (void)state;
    assert_int_equal(encoded(CS_BF16, (double)NAN), 0x7FC0);
    assert_int_equal(encoded(CS_F16, (double)NAN), 0x7E00);
    assert_int_equal(encoded(CS_F32, (double)NAN), 0x7FC00000);
    assert_true(encoded(CS_F64, (double)NAN) == UINT64_C(0x7FF8000000000000));
}

/* The C compiler's own conversions are the model. */
static void f32_and_f64_agree_with_the_machine(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t wide = cs_mix64(i), narrow;
        double value;
        memcpy(&value, &wide, 8);
        if (isnan(value)) continue;
        assert_true(encoded(CS_F64, value) == wide);
        value = ldexp(1 + (double)(wide >> 12) * 0x1p-52, (int)(wide % 300) - 160);
        float single = (float)value;
        narrow = encoded(CS_F32, value);
        assert_memory_equal(&narrow, &single, 4);
        assert_true(cs_dtype_decode(CS_F32, narrow) == (double)single);
    }
}

static void every_pattern_of_small_floats_survives_a_round_trip(void **state) {
    (void)state;
    static const enum cs_dtype dtypes[] = {CS_E2M1, CS_E4M3, CS_E5M2, CS_E8M0, CS_BF16, CS_F16};
    for (size_t d = 0; d < CS_COUNT(dtypes); d++)
        for (uint64_t bits = 0; bits >> cs_dtype_bits(dtypes[d]) == 0; bits++) {
            double value = cs_dtype_decode(dtypes[d], bits);
            if (!isnan(value) && !(isinf(value) && dtypes[d] == CS_E4M3)) assert_int_equal(encoded(dtypes[d], value), bits);
        }
    assert_true(cs_dtype_decode(CS_E4M3, 0x7E) == 448);
    assert_true(isnan(cs_dtype_decode(CS_E4M3, 0xFF)));
    assert_true(cs_dtype_decode(CS_E5M2, 0xFC) == -INFINITY);
    assert_true(isnan(cs_dtype_decode(CS_BF16, 0xFFC1)));
}

static void integers_truncate_and_refuse_what_they_cannot_hold(void **state) {
    (void)state;
    assert_int_equal(encoded(CS_U8, 255.9), 255);
    assert_int_equal(encoded(CS_U8, -0.9), 0);
    assert_int_equal(encoded(CS_I8, -128.9), 0x80);
    assert_int_equal(encoded(CS_I16, -1), 0xFFFF);
    assert_int_equal(encoded(CS_BOOL, 1), 1);
    assert_true(encoded(CS_I64, -0x1p63) == UINT64_C(1) << 63);
    assert_true(encoded(CS_U64, 0x1.fffffffffffffp63) == UINT64_C(0xFFFFFFFFFFFFF800));
    static const struct { enum cs_dtype dtype; double value; } bad[] = {
        {CS_U8, 256}, {CS_U8, -1}, {CS_I8, 128}, {CS_I8, -129}, {CS_BOOL, 2}, {CS_I64, 0x1p63}, {CS_U64, 0x1p64},
        {CS_U32, -1}, {CS_I32, 1e300}, {CS_I32, INFINITY}};
    uint64_t bits;
    for (size_t i = 0; i < CS_COUNT(bad); i++)
        assert_int_equal(cs_dtype_encode(bad[i].dtype, bad[i].value, &bits), CS_BAD_VALUE);
    assert_int_equal(cs_dtype_encode(CS_I32, (double)NAN, &bits), CS_BAD_VALUE);
    assert_true(cs_dtype_decode(CS_I8, 0x80) == -128);
    assert_true(cs_dtype_decode(CS_I64, UINT64_C(1) << 63) == -0x1p63);
    assert_true(cs_dtype_decode(CS_U64, UINT64_MAX) == 0x1p64);
    assert_true(cs_dtype_decode(CS_I16, 0xFFFE) == -2);
    assert_true(cs_dtype_decode(CS_BOOL, 7) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes_have_names_widths_and_kinds),
        cmocka_unit_test(every_name_of_every_dtype_parses),
        cmocka_unit_test(an_unknown_name_hears_the_nearest_one),
        cmocka_unit_test(e4m3_rounds_to_even_and_saturates),
        cmocka_unit_test(e5m2_overflows_to_infinity),
        cmocka_unit_test(e2m1_has_eight_magnitudes_and_saturates),
        cmocka_unit_test(e8m0_holds_powers_of_two_only),
        cmocka_unit_test(wider_floats_round_to_nearest_even),
        cmocka_unit_test(the_nan_of_each_dtype_is_known),
        cmocka_unit_test(f32_and_f64_agree_with_the_machine),
        cmocka_unit_test(every_pattern_of_small_floats_survives_a_round_trip),
        cmocka_unit_test(integers_truncate_and_refuse_what_they_cannot_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
