/* Every device but the reference (`emu`, and `gpu` where there is one) against the reference, operation by operation, on
 * random views. Each test runs twice: with indices of 32 bits, as sizes here ask for, and of 64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gpu/gpu.h"
#include "tests/support_twin.h"

static const struct cs_device *ref(void) { return cs_device_by_name("ref"); }

static const enum cs_dtype one_of_each_width[] = {CS_E2M1, CS_U8, CS_BF16, CS_F32, CS_F64};

enum { BYTES = PAIR_BYTES, N_VIEWS = 120 };

#define FOR_PAIRS(p, what)                                                                                             \
    FOR_DEVICES(device_)                                                                                               \
        for (size_t w_ = 0; w_ < CS_COUNT(one_of_each_width); w_++)                                                    \
            for (uint64_t k_ = 0; k_ < tested_part(N_VIEWS) && (pair_begin(p, device_, k_, one_of_each_width[w_]), true); pair_end(p, what), k_++)

static void copies_equal_the_reference(void **state) {
    (void)state;
    struct pair p;
    FOR_PAIRS(&p, "copy") {
        ASSERT_OK(cs_device_copy(ref(), &p.a, &p.b));
        ASSERT_OK(cs_device_copy(p.to.device, &p.x, &p.y));
    }
}

/* Mapped files begin anywhere: the source lies one byte beside every boundary. */
static void host_sources_are_staged_wherever_they_lie(void **state) {
    (void)state;
    struct pair p;
    FOR_PAIRS(&p, "copy from the host") {
        unsigned char *bytes = malloc(BYTES + 1);
        struct cs_storage host = {.kind = CS_STORAGE_HOST, .bytes = BYTES, .data = bytes + 1, .label = "mapping"};
        memcpy(bytes + 1, p.from.ref.data, BYTES);
        struct cs_difference difference;
        uint64_t expected, digest;
        p.y.storage = &host;
        ASSERT_OK(cs_device_copy(ref(), &p.a, &p.b));
        ASSERT_OK(cs_device_copy(p.to.device, &p.x, &p.y));
        ASSERT_OK(cs_device_compare(p.to.device, &p.x, &p.y, &difference));
        assert_int_equal(difference.n_elements, 0);
        ASSERT_OK(cs_device_digest(ref(), &p.b, &expected));
        ASSERT_OK(cs_device_digest(p.to.device, &p.y, &digest));
        assert_true(digest == expected);
        free(bytes);
    }
}

/* A shard's columns: its rows take as much device memory as they have bytes. */
static void gaps_between_rows_stay_on_the_host(void **state) {
    (void)state;
    enum { ROWS = 700, ALL = 512, COLUMNS = 128 };
    unsigned char *bytes = malloc(ROWS * ALL), *read = malloc(ROWS * COLUMNS);
    for (size_t i = 0; i < ROWS * ALL; i++) bytes[i] = (unsigned char)cs_mix64(i);
    FOR_DEVICES(device) {
        struct cs_storage host = {.kind = CS_STORAGE_HOST, .bytes = ROWS * ALL, .data = bytes, .label = "mapping"};
        struct cs_storage memory = {.kind = CS_STORAGE_MEMORY, .bytes = ROWS * COLUMNS, .label = "shard"};
        struct cs_view from, to;
        ASSERT_OK(device->allocate(device, memory.bytes, &memory.data));
        ASSERT_OK(cs_view_make(&from, &host, CS_U8, 2, (int64_t[]){ROWS, ALL}));
        ASSERT_OK(cs_view_narrow(&from, 1, COLUMNS, COLUMNS));
        ASSERT_OK(cs_view_make(&to, &memory, CS_U8, 2, (int64_t[]){ROWS, COLUMNS}));
        cs_gpu_set_memory_cap(cs_gpu_memory_used(device) + ROWS * COLUMNS);
        ASSERT_OK(cs_device_copy(device, &to, &from));
        cs_gpu_set_memory_cap(0);
        ASSERT_OK(cs_device_read(device, &to, read, ROWS * COLUMNS));
        for (size_t i = 0; i < ROWS * COLUMNS; i++)
            if (read[i] != bytes[i / COLUMNS * ALL + COLUMNS + i % COLUMNS]) fail_msg("%s: byte %zu", device->name, i);
        device->release(device, memory.data, memory.bytes);
    }
    free(bytes);
    free(read);
}

static void fills_equal_the_reference(void **state) {
    (void)state;
    struct pair p;
    FOR_PAIRS(&p, "fill") {
        uint64_t bits = random_below(&p.random, 2) ? UINT64_C(0x4141414141414141) : UINT64_C(0x0123456789ABCDEF);
        ASSERT_OK(cs_device_fill(ref(), &(struct cs_fill){p.a, bits}, 1));
        ASSERT_OK(cs_device_fill(p.to.device, &(struct cs_fill){p.x, bits}, 1));
    }
}

/* Regions of all widths that overlap, two values or many: the last one wins. */
static void batches_of_fills_equal_the_reference(void **state) {
    (void)state;
    enum { N = 40 };
    FOR_DEVICES(device) for (uint64_t seed = 0; seed < tested_part(60); seed++) {
        struct random random = {cs_mix64(seed), 0};
        struct cs_fill fills[N], others[N];
        struct twin twin;
        int64_t n_values = 1 + random_below(&random, 3) * 11;
        size_t n = 1 + (size_t)random_below(&random, N); /* few of them travel with the launch */
        twin_begin(&twin, device, BYTES, seed);
        for (size_t i = 0; i < n; i++) {
            int64_t shape[CS_NDIM];
            int ndim = random_shape(&random, shape);
            enum cs_dtype dtype = one_of_each_width[random_below(&random, CS_COUNT(one_of_each_width))];
            fills[i].view = random_layout(&random, &twin.ref, dtype, ndim, shape);
            fills[i].view.offset += random_below(&random, 64);
            fills[i].bits = (uint64_t)random_below(&random, n_values) * UINT64_C(0x0101010101010101);
            if (cs_view_check(&fills[i].view) != CS_OK) fills[i].view.offset = fills[i].view.shape[0] = fills[i].view.ndim = 0;
            others[i] = fills[i];
            others[i].view = twin_view(&twin, &fills[i].view);
        }
        ASSERT_OK(cs_device_fill(ref(), fills, n));
        ASSERT_OK(cs_device_fill(device, others, n));
        twin_assert_equal(&twin, "batch of fills", seed);
        twin_end(&twin);
    }
}

static void comparisons_equal_the_reference(void **state) {
    (void)state;
    struct pair p;
    FOR_PAIRS(&p, "compare") {
        struct cs_difference expected, difference;
        int64_t numel = cs_view_numel(&p.a);
        ASSERT_OK(cs_device_copy(ref(), &p.a, &p.b));
        for (int64_t k = 0; numel && k < random_below(&p.random, 4); k++) {
            struct cs_view one = p.a;
            int64_t at[CS_NDIM];
            cs_view_unravel(&p.a, random_below(&p.random, numel), at);
            for (int d = 0; d < one.ndim; d++) ASSERT_OK(cs_view_narrow(&one, d, at[d], 1));
            ASSERT_OK(cs_device_fill(ref(), &(struct cs_fill){one, 5}, 1));
        }
        ASSERT_OK(p.to.device->upload(p.to.device, p.to.other.data, p.to.ref.data, BYTES));
        ASSERT_OK(cs_device_compare(ref(), &p.a, &p.b, &expected));
        ASSERT_OK(cs_device_compare(p.to.device, &p.x, &p.y, &difference));
        assert_int_equal(difference.n_elements, expected.n_elements);
        assert_int_equal(difference.first, expected.first);
    }
}

static void digests_equal_the_reference(void **state) {
    (void)state;
    struct pair p;
    FOR_PAIRS(&p, "digest") {
        uint64_t expected, digest;
        ASSERT_OK(cs_device_digest(ref(), &p.a, &expected));
        ASSERT_OK(cs_device_digest(p.to.device, &p.x, &digest));
        if (digest != expected) fail_msg("%s, seed %" PRIu64, p.to.device->name, p.seed);
    }
}

static void generated_numbers_equal_the_reference(void **state) {
    (void)state;
    FOR_DEVICES(device) for (int dtype = 0; dtype < CS_N_DTYPES; dtype++)
        for (uint64_t k = 0; k < tested_part(60); k++) {
            struct pair p;
            pair_begin(&p, device, k, (enum cs_dtype)dtype);
            struct cs_storage numbers = {.kind = CS_STORAGE_SYNTHETIC, .bytes = BYTES};
            numbers.content = (struct cs_content){.kind = (enum cs_content_kind)(k % 6), .as = (enum cs_dtype)dtype,
                                                  .key = cs_mix64(k) >> (k % 60), .shift = k % 5 ? (unsigned)(k % 6) : 137};
            p.b.storage = &numbers;
            ASSERT_OK(cs_device_copy(ref(), &p.a, &p.b));
            ASSERT_OK(cs_device_copy(device, &p.x, &p.b));
            pair_end(&p, "generate");
        }
}

static void a_u8_tensor_can_hold_numbers_of_another_dtype(void **state) {
    (void)state;
    static const enum cs_dtype as[] = {CS_E8M0, CS_E4M3, CS_E5M2};
    FOR_DEVICES(device) for (size_t d = 0; d < CS_COUNT(as); d++) {
        struct cs_storage numbers = {.kind = CS_STORAGE_SYNTHETIC, .bytes = BYTES};
        numbers.content = (struct cs_content){.kind = CS_CONTENT_HASH, .as = as[d], .key = 5, .shift = 3};
        struct pair p;
        pair_begin(&p, device, 3 + d, CS_U8);
        p.b.storage = &numbers;
        ASSERT_OK(cs_device_copy(ref(), &p.a, &p.b));
        ASSERT_OK(cs_device_copy(device, &p.x, &p.b));
        pair_end(&p, "generate");
    }
}

/* ---- conversion ---- */

enum { N_NUMBERS = 4096 };

/* Numbers that are special in some dtype, then random ones: bits as they are, and exponents near those of narrow dtypes. */
static uint64_t number_bits(enum cs_dtype dtype, uint64_t i) {
    static const double special[] = {0, 1, -1, 0.5, 1.5, 2.5, 127, 128, 255, 256, 300, -128, -129, 448, 464, 480, 57344, 61440, 65504, 65520,
                                     0x1p-9, 0x1p-10, 0x1.8p-10, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-126, 0x1p-127, 0x1p-149, 0x1p-150, 0x1.8p-150,
                                     0x1p31, 0x1p32, 0x1p53, 0x1p63, -0x1p63, 0x1p64, 0x1.fffffep127, 0x1.ffffffp127, 1e300, -1e300};
    uint64_t random = cs_mix64(i), bits = 0;
    if (i < 2 * CS_COUNT(special)) {
        double value = i % 2 ? special[i / 2] : special[i / 2] * 1.00001;
        if (cs_dtype_encode(dtype, value, &bits) == CS_OK) return bits;
    }
    if (i % 3 || !cs_dtype_is_floating(dtype)) return random;
    double value = (double)(int64_t)random * 0x1p-63;
    for (uint64_t e = random % 64; e > 0; e--) value *= random & 64 ? 2 : 0.5;
    return cs_dtype_encode(dtype, value, &bits) == CS_OK ? bits : random;
}

static void assert_converts(const struct cs_device *device, enum cs_dtype to, enum cs_dtype from, int64_t step) {
    struct twin source, result;
    struct cs_view a, b;
    size_t size = (size_t)cs_dtype_bits(from) / 8;
    twin_begin(&source, device, N_NUMBERS * size, 1);
    twin_begin(&result, device, N_NUMBERS * 8, 2);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        uint64_t bits = number_bits(from, i);
        memcpy((char *)source.ref.data + i * size, &bits, size);
    }
    ASSERT_OK(device->upload(device, source.other.data, source.ref.data, source.ref.bytes));
    ASSERT_OK(cs_view_make(&a, &source.ref, from, 1, (int64_t[]){N_NUMBERS / step}));
    ASSERT_OK(cs_view_make(&b, &result.ref, to, 1, (int64_t[]){N_NUMBERS / step}));
    a.stride[0] = step;
    struct cs_view x = twin_view(&source, &a), y = twin_view(&result, &b);
    ASSERT_OK(cs_device_copy(ref(), &b, &a));
    ASSERT_OK(cs_device_copy(device, &y, &x));
    twin_assert_equal(&result, cs_dtype_name(to), (uint64_t)from);
    twin_end(&source);
    twin_end(&result);
}

static void conversions_equal_the_reference(void **state) {
    (void)state;
    FOR_DEVICES(device) for (int from = 0; from < CS_N_DTYPES; from++)
        for (int to = 0; to < CS_N_DTYPES; to++)
            if (from != to && from != CS_E2M1 && to != CS_E2M1) assert_converts(device, (enum cs_dtype)to, (enum cs_dtype)from, 1 + (from + to) % 2);
}

/* All numbers of 16 bits, and f32 in steps of a prime. */
static void narrow_floats_convert_as_on_the_reference_all_of_them(void **state) {
    (void)state;
    static const enum cs_dtype narrow[] = {CS_E4M3, CS_E5M2, CS_E8M0, CS_BF16, CS_F16, CS_F64, CS_I32};
    enum { N = 1 << 16 };
    FOR_DEVICES(device) for (size_t d = 0; d < CS_COUNT(narrow); d++) {
        struct twin source, result, back;
        struct cs_view f32, to, again;
        twin_begin(&source, device, N * 4, 1);
        twin_begin(&result, device, N * 8, 2);
        twin_begin(&back, device, N * 4, 3);
        for (uint32_t i = 0; i < N; i++) ((uint32_t *)source.ref.data)[i] = i * 65537u; /* every upper half, and every lower one */
        ASSERT_OK(device->upload(device, source.other.data, source.ref.data, N * 4));
        ASSERT_OK(cs_view_make(&f32, &source.ref, CS_F32, 1, (int64_t[]){N}));
        ASSERT_OK(cs_view_make(&to, &result.ref, narrow[d], 1, (int64_t[]){N}));
        ASSERT_OK(cs_view_make(&again, &back.ref, CS_F32, 1, (int64_t[]){N}));
        struct cs_view x = twin_view(&source, &f32), y = twin_view(&result, &to), z = twin_view(&back, &again);
        ASSERT_OK(cs_device_copy(ref(), &to, &f32));
        ASSERT_OK(cs_device_copy(device, &y, &x));
        ASSERT_OK(cs_device_copy(ref(), &again, &to));
        ASSERT_OK(cs_device_copy(device, &z, &y));
        twin_assert_equal(&result, cs_dtype_name(narrow[d]), 0);
        twin_assert_equal(&back, "back to f32", (uint64_t)narrow[d]);
        twin_end(&source), twin_end(&result), twin_end(&back);
    }
}

/* ---- large work: many blocks ---- */

enum { N_ROWS = 37, N_COLUMNS = 20003, ROW_STRIDE = 20016 };

static void large_work_equals_the_reference(void **state) {
    (void)state;
    FOR_DEVICES(device) for (size_t d = 0; d < 2 * CS_COUNT(one_of_each_width); d++) {
        enum cs_dtype dtype = one_of_each_width[d / 2];
        struct twin to, from;
        struct cs_view a, b, numbers, column;
        struct cs_difference expected, difference;
        size_t bytes = (size_t)N_ROWS * ROW_STRIDE * (size_t)cs_dtype_bits(dtype) / 8 + 1;
        struct cs_storage synthetic = {.kind = CS_STORAGE_SYNTHETIC, .bytes = bytes};
        synthetic.content = (struct cs_content){.kind = CS_CONTENT_HASH, .as = dtype, .key = 11, .shift = 3};
        twin_begin(&to, device, bytes, d);
        twin_begin(&from, device, bytes, d + 99);
        ASSERT_OK(cs_view_make(&a, &to.ref, dtype, 2, (int64_t[]){N_ROWS, d % 2 ? N_COLUMNS : ROW_STRIDE}));
        if (d % 2) a.stride[0] = ROW_STRIDE;
        b = numbers = a;
        b.storage = &from.ref;
        numbers.storage = &synthetic;
        struct cs_view x = twin_view(&to, &a), y = twin_view(&from, &b);
        ASSERT_OK(cs_device_copy(ref(), &b, &numbers));
        ASSERT_OK(cs_device_copy(device, &y, &numbers));
        ASSERT_OK(cs_device_copy(ref(), &a, &b));
        ASSERT_OK(cs_device_copy(device, &x, &y));
        column = a;
        ASSERT_OK(cs_view_narrow(&column, 1, 5000, 2));
        ASSERT_OK(cs_device_fill(ref(), &(struct cs_fill){column, 0x55}, 1));
        column = twin_view(&to, &column);
        ASSERT_OK(cs_device_fill(device, &(struct cs_fill){column, 0x55}, 1));
        ASSERT_OK(cs_device_compare(ref(), &a, &b, &expected));
        ASSERT_OK(cs_device_compare(device, &x, &y, &difference));
        assert_memory_equal(&difference, &expected, sizeof expected);
        uint64_t sum, same;
        ASSERT_OK(cs_device_digest(ref(), &a, &sum));
        ASSERT_OK(cs_device_digest(device, &x, &same));
        assert_true(sum == same);
        twin_assert_equal(&to, "large work", d);
        twin_assert_equal(&from, "large numbers", d);
        twin_end(&to), twin_end(&from);
    }
}

/* ---- memory ---- */

static void out_of_memory_is_clear_and_leaks_nothing(void **state) {
    (void)state;
    FOR_DEVICES(device) {
        struct pair p;
        void *data = &data;
        char text[128];
        pair_begin(&p, device, 7, CS_U8);
        size_t used = cs_gpu_memory_used(device);
        assert_int_equal(used, 2 * BYTES);
        cs_gpu_set_memory_cap(used + 100);
        assert_int_equal(device->allocate(device, 101, &data), CS_NO_MEMORY);
        snprintf(text, sizeof text, "%s: no memory for 101 bytes: %zu of %zu are in use", device->name, used, used + 100);
        assert_string_equal(cs_error_text(), text);
        assert_null(data);
        struct cs_storage host = {.kind = CS_STORAGE_HOST, .bytes = BYTES, .data = p.from.ref.data, .label = "mapping"};
        struct cs_view all, mapped;
        ASSERT_OK(cs_view_make(&all, &p.to.other, CS_U8, 2, (int64_t[]){2, BYTES / 2}));
        mapped = all;
        mapped.storage = &host;
        assert_int_equal(cs_device_copy(device, &all, &mapped), CS_NO_MEMORY); /* staging takes memory too */
        assert_int_equal(cs_gpu_memory_used(device), used);
        ASSERT_OK(device->allocate(device, 100, &data));
        device->release(device, data, 100);
        cs_gpu_set_memory_cap(0);
        assert_int_equal(cs_gpu_memory_used(device), used);
        assert_int_equal(device->allocate(device, SIZE_MAX / 2, &data), CS_NO_MEMORY);
        pair_end(&p, "nothing");
        assert_int_equal(cs_gpu_memory_used(device), 0);
    }
}

static void every_byte_survives_the_way_there_and_back(void **state) {
    (void)state;
    enum { LARGE = (40 << 20) + 12345 }; /* more than two halves of pinned memory */
    FOR_DEVICES(device) {
        struct twin twin;
        twin_begin(&twin, device, LARGE, 5);
        twin_assert_equal(&twin, "upload", 5);
        twin_end(&twin);
    }
}

static void fp4_is_not_converted(void **state) {
    (void)state;
    FOR_DEVICES(device) {
        struct pair p;
        pair_begin(&p, device, 3, CS_E2M1);
        p.y.dtype = CS_U8;
        assert_int_equal(device->convert(device, &p.x, &p.y), CS_UNSUPPORTED);
        pair_end(&p, "nothing");
    }
}

/* Also when asked at the device itself: no launch of nothing, and the answers of the reference. */
static void work_of_no_elements_is_none(void **state) {
    (void)state;
    FOR_DEVICES(device) {
        struct pair p;
        struct cs_difference difference;
        uint64_t digest;
        pair_begin(&p, device, 5, CS_BF16);
        struct cs_view x = p.x, y = p.y;
        x.ndim = y.ndim = 1, x.shape[0] = y.shape[0] = 0;
        ASSERT_OK(device->copy(device, &x, &y));
        ASSERT_OK(device->convert(device, &x, &y));
        ASSERT_OK(device->generate(device, &x, &y));
        ASSERT_OK(device->relayout(device, &(struct cs_plan){.bits = 16}, 0, &x, &y));
        ASSERT_OK(device->compare(device, &x, &y, &difference));
        assert_true(difference.n_elements == 0 && difference.first == -1);
        ASSERT_OK(device->digest(device, &x, &digest));
        assert_true(digest == cs_mix64(0)); /* no word, no byte */
        ASSERT_OK(device->download(device, NULL, NULL, 0));
        ASSERT_OK(device->upload(device, NULL, NULL, 0));
        pair_end(&p, "nothing");
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
        cmocka_unit_test(copies_equal_the_reference),
        cmocka_unit_test(host_sources_are_staged_wherever_they_lie),
        cmocka_unit_test(gaps_between_rows_stay_on_the_host),
        cmocka_unit_test(fills_equal_the_reference),
        cmocka_unit_test(batches_of_fills_equal_the_reference),
        cmocka_unit_test(comparisons_equal_the_reference),
        cmocka_unit_test(digests_equal_the_reference),
        cmocka_unit_test(generated_numbers_equal_the_reference),
        cmocka_unit_test(a_u8_tensor_can_hold_numbers_of_another_dtype),
        cmocka_unit_test(conversions_equal_the_reference),
        cmocka_unit_test(narrow_floats_convert_as_on_the_reference_all_of_them),
        cmocka_unit_test(large_work_equals_the_reference),
        cmocka_unit_test(out_of_memory_is_clear_and_leaks_nothing),
        cmocka_unit_test(every_byte_survives_the_way_there_and_back),
        cmocka_unit_test(fp4_is_not_converted),
        cmocka_unit_test(work_of_no_elements_is_none),
    };
    return cmocka_run_group_tests_name("32-bit indices", tests, use_narrow_indices, NULL) +
           cmocka_run_group_tests_name("64-bit indices", tests, use_wide_indices, use_narrow_indices);
}
