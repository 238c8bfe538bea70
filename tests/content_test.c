#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sim/tensor/tensor.h"

static struct cs_content content(enum cs_content_kind kind, enum cs_dtype as, uint64_t key, unsigned shift) {
    return (struct cs_content){.kind = kind, .as = as, .key = key, .shift = shift};
}

static void assert_elements(struct cs_content c, enum cs_dtype dtype, uint64_t first, const uint64_t *expected, size_t n) {
    for (size_t i = 0; i < n; i++) assert_int_equal(cs_content_element(&c, dtype, first + i), expected[i]);
}
#define ASSERT_ELEMENTS(content, dtype, first, ...)                                                                    \
    assert_elements(content, dtype, first, (const uint64_t[]){__VA_ARGS__},                                            \
                    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* i * 2654435761 = i * 0x9E3779B1: top bytes of 0, 9E3779B1, 3C6EF362, DAA66D13. */
static void a_pattern_is_the_golden_multiplication(void **state) {
    (void)state;
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_U8, 0, 0), CS_U8, 0, 0x00, 0x9E, 0x3C, 0xDA);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_U8, 2, 0), CS_U8, 0, 0x3C, 0xDA);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_U8, (UINT64_C(1) << 32) + 1, 0), CS_U8, 0, 0x9E); /* modulo 2^32 */
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_U8, UINT64_MAX, 0), CS_U8, 1, 0x00, 0x9E);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_U8, 0, 0x70), CS_U8, 0, 0x70, 0x0E);
}

/* The bytes 00 9E 3C DA as numbers: (b - 128) / 64 is -2, 0.46875, -1.0625, 1.40625. */
static void a_byte_becomes_a_sane_number_of_its_dtype(void **state) {
    (void)state;
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_BF16, 0, 0), CS_BF16, 0, 0xC000, 0x3EF0, 0xBF88, 0x3FB4);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_F16, 0, 0), CS_F16, 0, 0xC000, 0x3780, 0xBC40, 0x3DA0);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_F32, 0, 0), CS_F32, 0, 0xC0000000, 0x3EF00000, 0xBF880000);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_F64, 0, 0), CS_F64, 0, UINT64_C(0xC000000000000000), UINT64_C(0x3FDE000000000000));
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_F32, 0, 128), CS_F32, 0, 0); /* byte 128 is zero */
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_E8M0, 0, 0), CS_E8M0, 0, 120, 126, 124, 122);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_E8M0, 0, 0), CS_U8, 0, 120, 126, 124, 122); /* a u8 scale tensor */
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_U32, 0, 0), CS_U32, 0, 0x00, 0x9E, 0x3C, 0xDA);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_BOOL, 0, 0), CS_BOOL, 0, 0x00, 0x9E);
}

/* A shift brings element 0, whose byte is 0, to any byte. */
static void fp8_numbers_are_never_nan_or_infinite(void **state) {
    (void)state;
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_E4M3, 0, 0x7F), CS_E4M3, 0, 0x77);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_E4M3, 0, 0xFF), CS_E4M3, 0, 0xF7);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_E4M3, 0, 0x7E), CS_E4M3, 0, 0x7E);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_E5M2, 0, 0x7C), CS_E5M2, 0, 0x3C);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_E5M2, 0, 0xFF), CS_E5M2, 0, 0xBF);
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_E5M2, 0, 0x7B), CS_E5M2, 0, 0x7B);
}

/* Elements 0 and 1 are byte 0, low nibble first; bytes 00 9E 3C. */
static void two_e2m1_elements_share_a_byte(void **state) {
    (void)state;
    ASSERT_ELEMENTS(content(CS_CONTENT_PATTERN, CS_E2M1, 0, 0), CS_E2M1, 0, 0x0, 0x0, 0xE, 0x9, 0xC, 0x3);
    ASSERT_ELEMENTS(content(CS_CONTENT_DIGIT, CS_E2M1, 0x10, 0), CS_E2M1, 0, 0x0, 0x1, 0x1, 0x1, 0x2, 0x1);
    ASSERT_ELEMENTS(content(CS_CONTENT_VALUE, CS_E2M1, 0x7, 0), CS_E2M1, 0, 0x7, 0x7);
}

static void zero_and_value_are_constant(void **state) {
    (void)state;
    ASSERT_ELEMENTS(content(CS_CONTENT_ZERO, CS_U8, 99, 9), CS_F64, 5, 0, 0);
    ASSERT_ELEMENTS(content(CS_CONTENT_VALUE, CS_BF16, 0x13F80, 0), CS_BF16, 1, 0x3F80, 0x3F80);
    ASSERT_ELEMENTS(content(CS_CONTENT_VALUE, CS_U64, UINT64_MAX, 0), CS_F64, 1, UINT64_MAX);
}

static void a_hash_takes_eight_bytes_from_each_word(void **state) {
    (void)state;
    struct cs_content c = content(CS_CONTENT_HASH, CS_U8, 1000, 0);
    for (uint64_t i = 0; i < 50; i++)
        assert_int_equal(cs_content_element(&c, CS_U8, i), cs_mix64(1000 + i / 8) >> (i % 8 * 8) & 0xFF);
}

static void a_shifted_hash_differs_in_every_element(void **state) {
    (void)state;
    static const enum cs_dtype dtypes[] = {CS_U8, CS_E8M0, CS_BF16, CS_F32, CS_I32};
    for (size_t d = 0; d < CS_COUNT(dtypes); d++)
        for (uint64_t i = 0; i < 1000; i++) {
            struct cs_content a = content(CS_CONTENT_HASH, dtypes[d], 5, 0), b = content(CS_CONTENT_HASH, dtypes[d], 5, 13);
            assert_true(cs_content_element(&a, dtypes[d], i) != cs_content_element(&b, dtypes[d], i));
        }
}

/* Storage bytes are the same whichever dtype reads them: byte j is byte j % 8 of mix64(key + j / 8). */
static void garbage_is_the_same_bytes_for_every_width(void **state) {
    (void)state;
    static const enum cs_dtype dtypes[] = {CS_E2M1, CS_U8, CS_BF16, CS_F32, CS_F64};
    struct cs_content c = content(CS_CONTENT_GARBAGE, CS_U8, 77, 3);
    for (size_t d = 0; d < CS_COUNT(dtypes); d++) {
        uint64_t bits = (uint64_t)cs_dtype_bits(dtypes[d]), n = 64 / bits;
        for (uint64_t word = 0; word < 3; word++) {
            uint64_t joined = 0;
            for (uint64_t i = 0; i < n; i++) joined |= cs_content_element(&c, dtypes[d], word * n + i) << (i * bits);
            assert_true(joined == cs_mix64(77 + word));
        }
    }
}

static void digits_spell_the_index(void **state) {
    (void)state;
    ASSERT_ELEMENTS(content(CS_CONTENT_DIGIT, CS_U8, 0x1FE, 0), CS_U8, 0, 0xFE, 0xFF, 0x00);
    ASSERT_ELEMENTS(content(CS_CONTENT_DIGIT, CS_U8, 0x1FE, 1), CS_U8, 0, 0x01, 0x01, 0x02);
    ASSERT_ELEMENTS(content(CS_CONTENT_DIGIT, CS_U8, UINT64_MAX, 7), CS_U8, 0, 0xFF, 0x00);
    ASSERT_ELEMENTS(content(CS_CONTENT_DIGIT, CS_U8, UINT64_MAX, 8), CS_U8, 0, 0x00);
    ASSERT_ELEMENTS(content(CS_CONTENT_DIGIT, CS_BF16, 254, 0), CS_BF16, 0, 0x437E, 0x437F, 0x0000, 0x3F80); /* 254.0 255.0 0 1 */
    ASSERT_ELEMENTS(content(CS_CONTENT_DIGIT, CS_E8M0, 254, 0), CS_U8, 0, 254, 255, 0);
    ASSERT_ELEMENTS(content(CS_CONTENT_DIGIT, CS_E4M3, 127, 0), CS_E4M3, 0, 0x7F);
    ASSERT_ELEMENTS(content(CS_CONTENT_DIGIT, CS_I32, 0x300, 1), CS_I32, 0, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_is_the_golden_multiplication),
        cmocka_unit_test(a_byte_becomes_a_sane_number_of_its_dtype),
        cmocka_unit_test(fp8_numbers_are_never_nan_or_infinite),
        cmocka_unit_test(two_e2m1_elements_share_a_byte),
        cmocka_unit_test(zero_and_value_are_constant),
        cmocka_unit_test(a_hash_takes_eight_bytes_from_each_word),
        cmocka_unit_test(a_shifted_hash_differs_in_every_element),
        cmocka_unit_test(garbage_is_the_same_bytes_for_every_width),
        cmocka_unit_test(digits_spell_the_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
