/* Bytes that the real libraries produce: FNV-1a 64 of the result for pattern P, whose byte i is the top
 * eight bits of i * 2654435761 mod 2^32. V24 is missing: it needs the numerics of Marlin's nvfp4 scales. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/method/layouts.h"
#include "tests/support_layout.h"

struct vector {
    const char *id;
    const char *chain[2];
    int64_t rows, columns; /* bytes in a row */
    int repeat;            /* of each row, before the chain */
    unsigned char starts[4];
    uint64_t hash;
};

/* clang-format off */
static const struct vector vectors[] = {
    {"V0",  {NULL},                                    128,  16,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0x946003c2b6b281e8)},
    {"V1",  {"shuffle16"},                             128,  16,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0x60109473b64f0894)},
    {"V2",  {"shuffle32"},                             128,  16,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0xecaf13ec63f1abb0)},
    {"V3",  {"gated_shuffle32"},                       128,  16,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0xd07b72f9ffa077f8)},
    {"V4",  {"pairs_shuffle32"},                       128,  16,   1, {0xe3, 0x81, 0x1f, 0xbe}, UINT64_C(0xb80649dfb85e7920)},
    {"V5",  {"swap_gated_shuffle32"},                  128,  16,   1, {0xdd, 0x7c, 0x1a, 0xb8}, UINT64_C(0xb9f2c81472632608)},
    {"V6",  {"interleave_up_first", "shuffle32"},      128,  16,   1, {0xdd, 0x7c, 0x1a, 0xb8}, UINT64_C(0xb9f2c81472632608)},
    {"V7",  {"deinterleave_up_first"},                 128,  16,   1, {0xe3, 0x81, 0x1f, 0xbe}, UINT64_C(0x53b1cec1663262d0)},
    {"V8",  {"swizzle_128x4"},                         256,  12,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0x05aad9e3cd8d6d50)},
    {"V9",  {"swizzle_128x4"},                         200,   6,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0x987f98ace6c11ec9)},
    {"V10", {"pairs_shuffle32", "swizzle_128x4"},      256,  12,   1, {0x6a, 0x08, 0xa7, 0x45}, UINT64_C(0xf1283d1ad733e4f4)},
    {"V11", {"swap_gated_shuffle32", "swizzle_128x4"}, 256,  12,   1, {0x4c, 0xeb, 0x89, 0x27}, UINT64_C(0x03f5efa3cf0069f4)},
    {"V12", {"swap_gated_shuffle32", "block_major_k"}, 128, 256,   1, {0xde, 0x7c, 0x1a, 0xb9}, UINT64_C(0x632afe349d4041c9)},
    {"V13", {"shuffle32", "block_major_k"},            128, 256,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0xdacff652cd0c3f65)},
    {"V14", {"swap_shuffle16", "block_major_k"},       128, 256,   1, {0xde, 0x7c, 0x1a, 0xb9}, UINT64_C(0x4575caadcfa00485)},
    {"V15", {"sm90_fp4"},                               32,  64,   1, {0x30, 0x3e, 0x37, 0x4c}, UINT64_C(0x3b103971c7e60f72)},
    {"V16", {"sm90_scale_fold"},                       128,   8,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0xf8ad2d4e792540c3)},
    {"V17", {"hopper_value"},                           32,  64,   1, {0x30, 0x3e, 0x37, 0x4c}, UINT64_C(0x77b4bd9574c2c9f2)},
    {"V18", {"hopper_scale"},                          256,   4,   1, {0x00, 0xc6, 0x9e, 0x65}, UINT64_C(0xc2acf98def74106b)},
    {"V19", {"blackwell_scale"},                       256,  16,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0x07a221ec75c1753e)},
    {"V20", {"marlin4"},                               128,  16,   1, {0x80, 0x4b, 0x70, 0x91}, UINT64_C(0xa3ed07ed5c787728)},
    {"V21", {"marlin8"},                                64,  32,   1, {0x00, 0xf1, 0x9e, 0x8f}, UINT64_C(0x68a9a8a5e18f7c34)},
    {"V22", {"marlin_e8m0_scale"},                     128,   4,   1, {0x00, 0x8d, 0xc6, 0x54}, UINT64_C(0xd247d8e3c8c09c7e)},
    {"V23", {"p32"},                                     1,  64,   1, {0x00, 0x9e, 0xf1, 0x8f}, UINT64_C(0xc7b3cc9d71fd24b7)},
    {"V25", {"aiter_16x16"},                            32,  64,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0x7300cc24b23336b4)},
    {"V26", {"aiter_gu"},                               64,  64,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0x9422bdb0ba96c796)},
    {"V27", {"e8m0_shuffle"},                          256,   8,   1, {0x00, 0x1b, 0x78, 0x94}, UINT64_C(0x1f55580e7bbae168)},
    {"V28", {"e8m0_gu"},                                64,   8,   1, {0x00, 0x37, 0x78, 0xb0}, UINT64_C(0x7e6ed4fcf57e6be6)},
    {"V29", {"mn_major_pack"},                           2,   5, 128, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0x0ec18ed184f77b25)},
    {"V30", {"mn_major_pack"},                           6,  10,   1, {0x00, 0x9e, 0x3c, 0xda}, UINT64_C(0x67707c5f4ba4ecbb)},
};
/* clang-format on */

static unsigned char pattern(uint64_t i) { return (unsigned char)((uint32_t)(i * 2654435761u) >> 24); }

static unsigned char *make_input(const struct vector *vector) {
    size_t columns = (size_t)vector->columns, repeat = (size_t)vector->repeat;
    unsigned char *input = malloc((size_t)vector->rows * repeat * columns);
    assert_non_null(input);
    for (size_t m = 0; m < (size_t)vector->rows * repeat; m++) {
        for (size_t k = 0; k < columns; k++) input[m * columns + k] = pattern(m / repeat * columns + k);
    }
    return input;
}

static void assert_bytes(const char *id, const unsigned char *bytes, size_t size, const unsigned char *starts,
                         uint64_t hash) {
    uint64_t actual = cs_fnv1a64(CS_FNV1A64_START, bytes, size);
    if (memcmp(bytes, starts, 4) != 0 || actual != hash)
        fail_msg("%s: %016" PRIx64 ", not %016" PRIx64, id, actual, hash);
}

static void assert_vector(const struct vector *vector) {
    const struct cs_layout *chain[2];
    size_t n = 0;
    for (; n < 2 && vector->chain[n]; n++) {
        chain[n] = cs_layout_by_name(vector->chain[n]);
        assert_non_null(chain[n]);
    }
    int bits = n > 0 && chain[n - 1]->bits ? chain[n - 1]->bits : 8;
    struct cs_plan plan = support_compose(chain, n, bits, vector->rows * vector->repeat, vector->columns * 8 / bits);
    unsigned char *input = make_input(vector), *output = malloc(support_result_bytes(&plan, 1));
    assert_non_null(output);
    support_relayout(&plan, 1, output, input);
    assert_bytes(vector->id, output, support_result_bytes(&plan, 1), vector->starts, vector->hash);
    free(output);
    free(input);
}

static void the_rows_give_the_bytes_of_the_real_libraries(void **state) {
    (void)state;
    for (size_t i = 0; i < CS_COUNT(vectors); i++) assert_vector(&vectors[i]);
}

/* Layouts.md F, Marlin for 8-bit activations: the input is 64 x 64 numbers [k][n], so K comes first. */
static void marlin_for_eight_bit_activations_gives_the_real_bytes(void **state) {
    (void)state;
    unsigned char k_first[64 * 64], input[64 * 64], output[64 * 64];
    for (size_t i = 0; i < sizeof k_first; i++) k_first[i] = pattern(i);
    struct cs_plan plan = support_compose(
        (const struct cs_layout *[]){cs_layout_by_name("transpose"), cs_layout_by_name("marlin8_a8")}, 2, 8, 64, 64);
    support_relayout(&plan, 1, output, k_first);
    assert_true(cs_fnv1a64(CS_FNV1A64_START, output, 64 * 64) == UINT64_C(0x6b04c9a4936dae32));

    for (size_t i = 0; i < 64 * 32; i++)
        input[i] = (unsigned char)((k_first[2 * i] & 15) | (k_first[2 * i + 1] & 15) << 4);
    plan = support_compose(
        (const struct cs_layout *[]){cs_layout_by_name("transpose"), cs_layout_by_name("marlin4_a8")}, 2, 4, 64, 64);
    support_relayout(&plan, 1, output, input);
    assert_true(cs_fnv1a64(CS_FNV1A64_START, output, 64 * 32) == UINT64_C(0xf3c16785a8cef009));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rows_give_the_bytes_of_the_real_libraries),
        cmocka_unit_test(marlin_for_eight_bit_activations_gives_the_real_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
