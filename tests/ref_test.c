/* The reference device against a model that knows nothing of runs, words or threads: one element at a time, found by
 * cs_view_element, one bit at a time. */
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ref/ref.h"

static const struct cs_device *const ref = &cs_device_ref;

/* ---- the model ---- */

static uint64_t model_get(const struct cs_view *view, int64_t i) {
    int bits = cs_dtype_bits(view->dtype);
    uint64_t at = (uint64_t)cs_view_element(view, i) * (uint64_t)bits, value = 0;
    for (int b = 0; b < bits; b++, at++)
        value |= (uint64_t)(((uint8_t *)view->storage->data)[at / 8] >> (at % 8) & 1) << b;
    return value;
}

static void model_set(const struct cs_view *view, int64_t i, uint64_t value) {
    int bits = cs_dtype_bits(view->dtype);
    uint64_t at = (uint64_t)cs_view_element(view, i) * (uint64_t)bits;
    for (int b = 0; b < bits; b++, at++) {
        uint8_t *byte = &((uint8_t *)view->storage->data)[at / 8], mask = (uint8_t)(1u << (at % 8));
        *byte = (uint8_t)(value >> b & 1 ? *byte | mask : *byte & ~mask);
    }
}

static uint64_t model_digest(const struct cs_view *view) {
    int bits = cs_dtype_bits(view->dtype);
    uint64_t sum = 0, word = 0, at = 0;
    for (int64_t i = 0; i < cs_view_numel(view); i++) {
        word |= model_get(view, i) << (at % 64);
        at += (uint64_t)bits;
        if (at % 64 == 0) {
            sum += cs_mix64(word + (at / 64 - 1) * UINT64_C(0x9e3779b97f4a7c15));
            word = 0;
        }
    }
    if (at % 64) sum += cs_mix64(word + (at / 64) * UINT64_C(0x9e3779b97f4a7c15));
    return sum + cs_mix64((at + 7) / 8);
}

/* ---- views of all kinds ---- */

struct random { uint64_t key, n; };

static int64_t below(struct random *random, int64_t limit) {
    return (int64_t)(cs_mix64(random->key + random->n++) % (uint64_t)limit);
}

/* Strides for the shape in a random order of dimensions, with random gaps: elements never overlap. */
static struct cs_view random_layout(struct random *random, struct cs_storage *storage, enum cs_dtype dtype, int ndim,
                                    const int64_t *shape) {
    struct cs_view view;
    assert_int_equal(cs_view_make(&view, storage, dtype, ndim, shape), CS_OK);
    bool is_shuffled = below(random, 3) == 0, has_gaps = below(random, 2) == 0, is_even = below(random, 2) == 0;
    int order[CS_NDIM];
    for (int d = 0; d < ndim; d++) order[d] = d;
    for (int d = ndim - 1; d > 0 && is_shuffled; d--) {
        int other = (int)below(random, d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    int64_t stride = has_gaps && below(random, 3) == 0 ? 2 : 1;
    for (int j = ndim - 1; j >= 0; j--) {
        view.stride[order[j]] = stride;
        stride = stride * (shape[order[j]] ? shape[order[j]] : 1) + (has_gaps ? below(random, 3) : 0);
        if (is_even) stride += stride % 2;
    }
    view.offset = below(random, 5) * (is_even ? 2 : 1);
    return view;
}

enum { SMALL = 1 << 16 };

static struct cs_storage storage_over(void *data, size_t bytes) {
    return (struct cs_storage){.kind = CS_STORAGE_MEMORY, .bytes = bytes, .data = data, .label = "t"};
}

static void randomise(struct cs_storage *storage, uint64_t key) {
    for (size_t i = 0; i < storage->bytes; i++) ((uint8_t *)storage->data)[i] = (uint8_t)cs_mix64(key + i);
}

static const enum cs_dtype one_of_each_width[] = {CS_E2M1, CS_U8, CS_BF16, CS_F32, CS_F64};

/* Two views of one random shape in two storages of random bytes, and a copy of the first storage for the model. */
struct pair {
    struct random random;
    struct cs_storage storage[2], model;
    struct cs_view a, b, a_model;
};

static void pair_begin(struct pair *pair, uint64_t key, enum cs_dtype dtype) {
    int64_t shape[CS_NDIM];
    pair->random = (struct random){cs_mix64(key), 0};
    int ndim = (int)below(&pair->random, 5);
    for (int d = 0; d < ndim; d++) shape[d] = below(&pair->random, 20) ? 1 + below(&pair->random, 4) : 0;
    if (ndim && below(&pair->random, 2)) shape[ndim - 1] *= 7;
    for (int i = 0; i < 2; i++) {
        pair->storage[i] = storage_over(malloc(SMALL), SMALL);
        randomise(&pair->storage[i], key + (uint64_t)i * SMALL);
    }
    pair->model = storage_over(malloc(SMALL), SMALL);
    memcpy(pair->model.data, pair->storage[0].data, SMALL);
    pair->a = random_layout(&pair->random, &pair->storage[0], dtype, ndim, shape);
    pair->b = random_layout(&pair->random, &pair->storage[1], dtype, ndim, shape);
    pair->a_model = pair->a;
    pair->a_model.storage = &pair->model;
    assert_int_equal(cs_view_check(&pair->a), CS_OK);
    assert_int_equal(cs_view_check(&pair->b), CS_OK);
}

/* Every byte, those around the view included. */
static void pair_end(struct pair *pair) {
    assert_memory_equal(pair->storage[0].data, pair->model.data, SMALL);
    free(pair->storage[0].data);
    free(pair->storage[1].data);
    free(pair->model.data);
}

#define FOR_PAIRS(pair, n)                                                                                             \
    for (size_t w_ = 0; w_ < CS_COUNT(one_of_each_width); w_++)                                                        \
        for (uint64_t k_ = 0; k_ < (n) && (pair_begin(pair, k_, one_of_each_width[w_]), true); pair_end(pair), k_++)

static void copying_any_views_equals_the_model(void **state) {
    (void)state;
    struct pair p;
    FOR_PAIRS(&p, 200) {
        assert_int_equal(cs_ref_copy(ref, &p.a, &p.b), CS_OK);
        for (int64_t i = 0; i < cs_view_numel(&p.a); i++) model_set(&p.a_model, i, model_get(&p.b, i));
    }
}

static void filling_any_view_equals_the_model(void **state) {
    (void)state;
    struct pair p;
    FOR_PAIRS(&p, 200) {
        uint64_t bits = below(&p.random, 2) ? UINT64_C(0x4141414141414141) : UINT64_C(0x0123456789ABCDEF);
        assert_int_equal(cs_ref_fill(ref, &(struct cs_fill){p.a, bits}, 1), CS_OK);
        for (int64_t i = 0; i < cs_view_numel(&p.a); i++) model_set(&p.a_model, i, bits);
    }
}

static void comparing_any_views_equals_the_model(void **state) {
    (void)state;
    struct pair p;
    FOR_PAIRS(&p, 200) {
        int64_t numel = cs_view_numel(&p.a), n = 0, first = -1;
        cs_ref_copy(ref, &p.b, &p.a);
        for (int64_t k = 0; numel && k < below(&p.random, 4); k++) model_set(&p.b, below(&p.random, numel), 5);
        for (int64_t i = numel - 1; i >= 0; i--)
            if (model_get(&p.a, i) != model_get(&p.b, i)) n++, first = i;
        struct cs_difference difference;
        assert_int_equal(cs_ref_compare(ref, &p.a, &p.b, &difference), CS_OK);
        assert_int_equal(difference.n_elements, n);
        assert_int_equal(difference.first, first);
    }
}

static void digesting_any_view_equals_the_model(void **state) {
    (void)state;
    struct pair p;
    FOR_PAIRS(&p, 200) {
        uint64_t digest = 0, copy = 0;
        assert_int_equal(cs_ref_digest(ref, &p.a, &digest), CS_OK);
        assert_true(digest == model_digest(&p.a));
        cs_ref_copy(ref, &p.b, &p.a);
        assert_int_equal(cs_ref_digest(ref, &p.b, &copy), CS_OK);
        assert_true(digest == copy); /* a digest knows the elements, not where they are */
    }
}

static void generating_any_content_equals_its_definition(void **state) {
    (void)state;
    struct pair p;
    for (int dtype = 0; dtype < CS_N_DTYPES; dtype++)
        for (uint64_t k = 0; k < 120; k++) {
            pair_begin(&p, k, (enum cs_dtype)dtype);
            struct cs_storage synthetic = {.kind = CS_STORAGE_SYNTHETIC, .bytes = SMALL};
            synthetic.content = (struct cs_content){.kind = (enum cs_content_kind)(k % 6), .as = (enum cs_dtype)dtype,
                                                    .key = cs_mix64(k) >> (k % 60), .shift = k % 5 ? (unsigned)(k % 6) : 137};
            p.b.storage = &synthetic;
            assert_int_equal(cs_ref_generate(ref, &p.a, &p.b), CS_OK);
            for (int64_t i = 0; i < cs_view_numel(&p.a); i++)
                model_set(&p.a_model, i,
                          cs_content_element(&synthetic.content, p.b.dtype, (uint64_t)cs_view_element(&p.b, i)));
            p.b.storage = &p.storage[1];
            pair_end(&p);
        }
}

static void a_u8_tensor_can_hold_numbers_of_another_dtype(void **state) {
    (void)state;
    uint8_t bytes[100];
    int64_t shape = 100;
    struct cs_storage memory = storage_over(bytes, 100), synthetic = {.kind = CS_STORAGE_SYNTHETIC, .bytes = 100};
    struct cs_view to, from;
    cs_view_make(&to, &memory, CS_U8, 1, &shape);
    cs_view_make(&from, &synthetic, CS_U8, 1, &shape);
    static const enum cs_dtype as[] = {CS_E8M0, CS_E4M3, CS_E5M2};
    for (size_t d = 0; d < CS_COUNT(as); d++) {
        synthetic.content = (struct cs_content){.kind = CS_CONTENT_HASH, .as = as[d], .key = 5, .shift = 3};
        assert_int_equal(cs_ref_generate(ref, &to, &from), CS_OK);
        for (uint64_t i = 0; i < 100; i++) assert_int_equal(bytes[i], cs_content_element(&synthetic.content, CS_U8, i));
    }
}

/* A digest by hand: bytes 1 … 9 are the words 0x0807060504030201 and 9. */
static void a_digest_is_the_sum_that_its_contract_says(void **state) {
    (void)state;
    uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    int64_t shape = 9;
    struct cs_storage memory = storage_over(bytes, 9);
    struct cs_view view;
    uint64_t digest;
    cs_view_make(&view, &memory, CS_U8, 1, &shape);
    assert_int_equal(cs_ref_digest(ref, &view, &digest), CS_OK);
    uint64_t words[] = {UINT64_C(0x0807060504030201), 9}, sum = 0;
    for (uint64_t w = 0; w < 2; w++) sum += cs_mix64(words[w] + w * UINT64_C(0x9e3779b97f4a7c15));
    assert_true(digest == sum + cs_mix64(9));
}

static void later_regions_of_a_batch_win(void **state) {
    (void)state;
    uint8_t bytes[4] = {0};
    int64_t shape = 4;
    struct cs_storage memory = storage_over(bytes, 4);
    struct cs_view all, half;
    cs_view_make(&all, &memory, CS_U8, 1, &shape);
    half = all;
    cs_view_narrow(&half, 0, 2, 2);
    struct cs_fill fills[] = {{all, 1}, {half, 2}};
    assert_int_equal(cs_ref_fill(ref, fills, 2), CS_OK);
    assert_memory_equal(bytes, "\1\1\2\2", 4);
}

/* ---- threads ---- */

enum { N_ROWS = 37, N_COLUMNS = 100003, ROW_STRIDE = 100010 };

struct large {
    struct cs_storage a, b, synthetic;
    struct cs_view to, from, numbers;
};

static void large_begin(struct large *l, enum cs_dtype dtype, bool has_gaps) {
    int64_t shape[] = {N_ROWS, N_COLUMNS};
    size_t bytes = (size_t)N_ROWS * ROW_STRIDE * (size_t)cs_dtype_bits(dtype) / 8 + 1;
    l->a = storage_over(calloc(bytes, 1), bytes);
    l->b = storage_over(calloc(bytes, 1), bytes);
    l->synthetic = (struct cs_storage){.kind = CS_STORAGE_SYNTHETIC, .bytes = bytes};
    l->synthetic.content = (struct cs_content){.kind = CS_CONTENT_HASH, .as = dtype, .key = 11, .shift = 3};
    cs_view_make(&l->to, &l->a, dtype, 2, shape);
    if (has_gaps) l->to.stride[0] = ROW_STRIDE;
    l->from = l->numbers = l->to;
    l->from.storage = &l->b;
    l->numbers.storage = &l->synthetic;
}

/* What a sequence of all operations leaves: digests and a difference. */
struct outcome { uint64_t generated, copied, filled; struct cs_difference difference; };

static struct outcome all_operations(struct large *l, int n_threads) {
    struct outcome outcome = {0};
    struct cs_view column = l->to;
    omp_set_num_threads(n_threads);
    cs_ref_generate(ref, &l->from, &l->numbers);
    cs_ref_digest(ref, &l->from, &outcome.generated);
    cs_ref_copy(ref, &l->to, &l->from);
    cs_ref_digest(ref, &l->to, &outcome.copied);
    cs_view_narrow(&column, 1, 50000, 2);
    cs_ref_fill(ref, &(struct cs_fill){column, 0x55}, 1);
    cs_ref_compare(ref, &l->to, &l->from, &outcome.difference);
    cs_ref_fill(ref, &(struct cs_fill){l->to, 0x3F80}, 1);
    cs_ref_digest(ref, &l->to, &outcome.filled);
    return outcome;
}

static void results_are_the_same_for_any_number_of_threads(void **state) {
    (void)state;
    static const enum cs_dtype dtypes[] = {CS_E2M1, CS_U8, CS_BF16, CS_F32};
    int n_before = omp_get_max_threads();
    for (size_t d = 0; d < 2 * CS_COUNT(dtypes); d++) {
        struct large l;
        large_begin(&l, dtypes[d / 2], d % 2);
        struct outcome one = all_operations(&l, 1);
        assert_true(one.generated == one.copied && one.filled != one.copied);
        assert_true(one.difference.first == 50000 || one.difference.first == 50001 || d < 2);
        static const int n_threads[] = {2, 3, 7};
        for (size_t t = 0; t < CS_COUNT(n_threads); t++) {
            struct outcome many = all_operations(&l, n_threads[t]);
            assert_memory_equal(&many, &one, sizeof one);
        }
        free(l.a.data);
        free(l.b.data);
    }
    omp_set_num_threads(n_before);
}

static void large_work_equals_the_model_too(void **state) {
    (void)state;
    struct large l;
    large_begin(&l, CS_U8, true);
    omp_set_num_threads(3);
    cs_ref_generate(ref, &l.to, &l.numbers);
    for (int64_t i = 0; i < cs_view_numel(&l.to); i++) {
        uint64_t position = (uint64_t)cs_view_element(&l.to, i);
        assert_int_equal(((uint8_t *)l.a.data)[position], cs_content_element(&l.synthetic.content, CS_U8, position));
    }
    free(l.a.data);
    free(l.b.data);
}

/* ---- memory ---- */

static void memory_is_aligned_and_failure_names_the_size(void **state) {
    (void)state;
    void *data = &data;
    assert_int_equal(cs_ref_allocate(ref, 0, &data), CS_OK);
    assert_null(data);
    cs_ref_release(ref, data, 0);
    static const struct { size_t bytes, alignment; } rows[] = {{1, 64}, {4 << 20, 2 << 20}, {(4 << 20) + 1, 2 << 20}};
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        assert_int_equal(cs_ref_allocate(ref, rows[i].bytes, &data), CS_OK);
        assert_int_equal((uintptr_t)data % rows[i].alignment, 0);
        memset(data, 1, rows[i].bytes);
        cs_ref_release(ref, data, rows[i].bytes);
    }
    assert_int_equal(cs_ref_allocate(ref, SIZE_MAX, &data), CS_NO_MEMORY);
    assert_string_equal(cs_error_text(), "ref: no memory for 18446744073709551615 bytes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copying_any_views_equals_the_model),
        cmocka_unit_test(filling_any_view_equals_the_model),
        cmocka_unit_test(comparing_any_views_equals_the_model),
        cmocka_unit_test(digesting_any_view_equals_the_model),
        cmocka_unit_test(generating_any_content_equals_its_definition),
        cmocka_unit_test(a_u8_tensor_can_hold_numbers_of_another_dtype),
        cmocka_unit_test(a_digest_is_the_sum_that_its_contract_says),
        cmocka_unit_test(later_regions_of_a_batch_win),
        cmocka_unit_test(results_are_the_same_for_any_number_of_threads),
        cmocka_unit_test(large_work_equals_the_model_too),
        cmocka_unit_test(memory_is_aligned_and_failure_names_the_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
