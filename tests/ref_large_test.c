/* The reference device on work so large that it streams past the caches, packs tiles and shares them among threads. */
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ref/ref.h"
#include "sim/method/layouts.h"

static const struct cs_device *const ref = &cs_device_ref;

enum { LARGE = 10 << 20 }; /* bytes */

static struct cs_storage new_storage(size_t bytes) {
    struct cs_storage storage = {.kind = CS_STORAGE_MEMORY, .bytes = bytes, .data = calloc(bytes, 1), .label = "t"};
    assert_non_null(storage.data);
    return storage;
}

static void randomise(unsigned char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)cs_mix64(i);
}

/* ---- fill ---- */

/* Rows of `n` elements with a gap of one after each, from element 1 on: no row begins where a whole unit is stored. */
static void assert_fills_rows(enum cs_dtype dtype, int64_t n, uint64_t bits) {
    size_t width = (size_t)cs_dtype_bits(dtype) / 8;
    int64_t n_rows = LARGE / (int64_t)width / n;
    struct cs_storage storage = new_storage((size_t)(n_rows * (n + 1) + 1) * width);
    struct cs_view view;
    assert_int_equal(cs_view_make(&view, &storage, dtype, 2, (const int64_t[]){n_rows, n}), CS_OK);
    view.stride[0] = n + 1;
    view.offset = 1;
    assert_int_equal(cs_ref_fill(ref, &(struct cs_fill){view, bits}, 1), CS_OK);
    for (int64_t i = 0; i < n_rows * (n + 1) + 1; i++) {
        uint64_t expected = i % (n + 1) == 0 ? 0 : bits, actual = 0;
        memcpy(&actual, (unsigned char *)storage.data + (size_t)i * width, width);
        if (actual != expected) fail_msg("element %lld", (long long)i);
    }
    free(storage.data);
}

static void a_large_fill_writes_its_rows_and_no_gap(void **state) {
    (void)state;
    assert_fills_rows(CS_U8, 133, 0x5A);
    assert_fills_rows(CS_BF16, 127, 0x3F80);
    assert_fills_rows(CS_BF16, 7, 0x3F80);
    assert_fills_rows(CS_F32, 33, 0x3F812345);
    assert_fills_rows(CS_U64, 129, UINT64_C(0x0123456789ABCDEF));
    assert_fills_rows(CS_U8, 40000, 0);
}

/* ---- relayout ---- */

struct relayout_case {
    const char *chain[3];
    int bits;
    int64_t rows, columns;
};

static const struct relayout_case cases[] = {
    {{"shuffle32"}, 8, 64, 1536},                          /* rows long enough to be streamed */
    {{"pairs_shuffle32"}, 8, 128, 96},                     /* rows put together first */
    {{"pairs_shuffle32", "swizzle_128x4"}, 8, 256, 96},    /* windows that touch, some of them backwards */
    {{"swizzle_128x4"}, 8, 100, 90},                       /* padded both ways */
    {{"swizzle_128x4"}, 32, 130, 7},
    {{"swap_gated_shuffle32", "swizzle_128x4"}, 8, 256, 40},
    {{"block_major_k"}, 8, 64, 512},
    {{"sm90_fp4"}, 8, 64, 256},
    {{"sm90_fp4_fp8"}, 16, 64, 256},
    {{"hopper_value"}, 8, 72, 100},                        /* padded, and words permuted */
    {{"block_major_k", "int4_signed"}, 8, 64, 512},        /* bits of words inverted */
    {{"swizzle_128x4", "int4_signed"}, 8, 100, 90},        /* padding's too */
    {{"swizzle_128x4", "int4_signed"}, 4, 100, 96},
    {{"marlin4"}, 4, 128, 512},
    {{"marlin4_a8"}, 4, 128, 512},
    {{"marlin8"}, 8, 128, 512},
    {{"marlin_zp4"}, 4, 24, 512},                          /* nibbles that part */
    {{"gptq_to_marlin4"}, 4, 64, 1024},
    {{"transpose"}, 8, 192, 300},
    {{"transpose"}, 16, 30, 70},
    {{"transpose"}, 64, 96, 64},
    {{"mn_major_pack"}, 8, 50, 70},
};

/* Destination bit `bit`, by the definition: one element at a time, then what becomes of its word. */
static unsigned expected_bit(const struct cs_plan *plan, const unsigned char *source, int64_t bit) {
    unsigned inverted = 0;
    if (plan->word) {
        int s = 0;
        while (plan->word[s] % 32 != bit % 32) s++;
        inverted = plan->word[s] >= 32;
        bit += s - bit % 32;
    }
    int64_t from = cs_plan_source(plan, bit / plan->bits);
    if (from < 0) return inverted;
    from = from * plan->bits + bit % plan->bits;
    return inverted ^ ((unsigned)source[from / 8] >> from % 8 & 1u);
}

static void assert_is_relayout(const struct cs_plan *plan, const unsigned char *to, const unsigned char *from, const char *name) {
    for (int64_t bit = 0; bit < plan->rows * plan->columns * plan->bits; bit++)
        if (((unsigned)to[bit / 8] >> bit % 8 & 1u) != expected_bit(plan, from, bit)) fail_msg("%s: bit %lld", name, (long long)bit);
}

static void flat(struct cs_view *view, struct cs_storage *storage) {
    int64_t n = (int64_t)storage->bytes;
    assert_int_equal(cs_view_make(view, storage, CS_U8, 1, &n), CS_OK);
}

/* Many equal matrices: the first is checked bit by bit, the others must be like it. */
static void relayout_case(const struct relayout_case *c, int n_threads) {
    const struct cs_layout *chain[CS_COUNT(c->chain)];
    struct cs_plan plan;
    struct cs_view to_view, from_view;
    size_t n = 0;
    for (; c->chain[n]; n++) assert_non_null(chain[n] = cs_layout_by_name(c->chain[n]));
    assert_int_equal(cs_plan_compose(&plan, chain, n, c->bits, c->rows, c->columns), CS_OK);
    size_t from_bytes = (size_t)(c->rows * c->columns * c->bits / 8), to_bytes = (size_t)(plan.rows * plan.columns * c->bits / 8);
    size_t n_matrices = LARGE / to_bytes + 1;
    struct cs_storage from = new_storage(n_matrices * from_bytes), to = new_storage(n_matrices * to_bytes);
    randomise(from.data, from_bytes);
    for (size_t m = 1; m < n_matrices; m++) memcpy((unsigned char *)from.data + m * from_bytes, from.data, from_bytes);
    flat(&to_view, &to);
    flat(&from_view, &from);
    memset(to.data, 0xEE, to.bytes);
    omp_set_num_threads(n_threads);
    assert_int_equal(cs_ref_relayout(ref, &plan, (int64_t)n_matrices, &to_view, &from_view), CS_OK);
    assert_is_relayout(&plan, to.data, from.data, c->chain[0]);
    assert_memory_equal((unsigned char *)to.data + to_bytes, to.data, (n_matrices - 1) * to_bytes);
    free(from.data);
    free(to.data);
}

static void a_large_relayout_equals_its_definition_for_any_number_of_threads(void **state) {
    (void)state;
    static const int n_threads[] = {1, 2, 5};
    int n_before = omp_get_max_threads();
    for (size_t i = 0; i < CS_COUNT(cases); i++) relayout_case(&cases[i], n_threads[i % CS_COUNT(n_threads)]);
    for (size_t i = 0; i < CS_COUNT(cases); i++) relayout_case(&cases[i], n_threads[(i + 1) % CS_COUNT(n_threads)]);
    omp_set_num_threads(n_before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_fill_writes_its_rows_and_no_gap),
        cmocka_unit_test(a_large_relayout_equals_its_definition_for_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
