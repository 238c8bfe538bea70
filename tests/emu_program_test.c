/* Programs on every device but the reference against the reference: each operation on special and random numbers, and
 * random programs over blocks. */
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

static const char *const operations[] = {
    "x + v", "x * v", "x / v", "x into v", "x max v", "x min v", "x fmax v", "x fmin v", "x if_zero v", "x zero_below v", "x abs", "x log2",
    "x exp2", "x ceil", "x floor", "x nearest", "x as bf16", "x as f16", "x as e4m3", "x as e5m2", "x as e8m0", "x as e2m1",
    "x bits bf16", "x bits f16", "x bits e4m3", "x bits e5m2", "x bits e8m0", "x bits e2m1", "x float", "x int",
    "x xor v", "x and v", "x or v", "x left v", "x right v", "x plus v", "x least v", "x most v", "x drop v", "x + 1.5 * 0x1p-3 max -7",
    "x left 3", "x as e8m0 ceil", "x as e8m0 floor", "x as e8m0 nearest", "x and 0x7FFFFF plus 5"};

static const uint32_t special[] = {0,          0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 1,
                                   0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x3F000000, 0x40200000, 0x4B000001, 0xC2FC0000, 0x43170000,
                                   0x42FE0000, 0xC3160000, 31,         32,         0x4F000000, 0xCF000000, 0x40C00000, 0x40A00000, 0x3E800000};
enum { N_SPECIAL = sizeof special / sizeof special[0], N_PAIRS = N_SPECIAL * N_SPECIAL, N = N_PAIRS + 2048 };

static bool is_nan(uint32_t bits) { return (bits & 0x7FFFFFFF) > 0x7F800000; }

/* Pairs of special numbers, then random ones; which of two NaNs an addition keeps is the compiler's choice, so there is one at most. */
static void set_numbers(uint32_t *x, uint32_t *v) {
    for (uint32_t i = 0; i < N; i++) {
        uint64_t random = cs_mix64(i);
        x[i] = i < N_PAIRS ? special[i / N_SPECIAL] : (uint32_t)random;
        v[i] = i < N_PAIRS ? special[i % N_SPECIAL] : i % 4 ? (uint32_t)(random >> 32) : (uint32_t)(random >> 59);
        if (i >= N_PAIRS && i % 2) x[i] = (x[i] & 0x83FFFFFF) | 0x3C000000; /* of ordinary size */
        if (i >= N_PAIRS && i % 4 == 3) v[i] = (v[i] & 0x83FFFFFF) | 0x3C000000;
        if (is_nan(x[i])) x[i] |= 0x400000; /* C's fmax and CUDA's see a signalling NaN differently */
        if (is_nan(v[i])) v[i] |= 0x400000;
        if (is_nan(x[i]) && is_nan(v[i])) v[i] = x[i];
        if (!((x[i] | v[i]) & 0x7FFFFFFF)) v[i] = x[i]; /* which of two zeros C's fmax takes is up to its compiler */
    }
}

static struct cs_program parsed(const char *text, struct cs_program_name *names) {
    struct cs_program program;
    ASSERT_OK(cs_program_parse(text, &program, names));
    return program;
}

static void each_operation_equals_the_reference(void **state) {
    (void)state;
    FOR_DEVICES(device) for (size_t o = 0; o < CS_COUNT(operations); o++) {
        struct twin in, out;
        struct cs_program_name names[CS_PROGRAM_OPERANDS];
        struct cs_program program = parsed(operations[o], names), other;
        struct cs_view result;
        twin_begin(&in, device, 2 * N * 4, 1);
        twin_begin(&out, device, N * 4, 2);
        set_numbers(in.ref.data, (uint32_t *)in.ref.data + N);
        ASSERT_OK(device->upload(device, in.other.data, in.ref.data, in.ref.bytes));
        program.ndim = 1, program.shape[0] = N;
        ASSERT_OK(cs_view_make(&result, &out.ref, CS_F32, 1, (int64_t[]){N}));
        for (size_t i = 0; i < program.n_operands; i++) {
            program.operand[i] = (struct cs_operand){result, {1}};
            program.operand[i].view.storage = &in.ref;
            program.operand[i].view.offset = *names[i].start == 'v' ? N : 0;
        }
        other = program;
        for (size_t i = 0; i < program.n_operands; i++) other.operand[i].view.storage = &in.other;
        struct cs_view other_result = twin_view(&out, &result);
        ASSERT_OK(cs_device_map(ref(), &program, &result));
        ASSERT_OK(cs_device_map(device, &other, &other_result));
        twin_assert_equal(&out, operations[o], 0);
        twin_end(&in), twin_end(&out);
    }
}

/* ---- shapes, dtypes and blocks ---- */

static const enum cs_dtype dtypes[] = {CS_F32, CS_BF16, CS_F16, CS_E4M3, CS_E5M2, CS_E8M0, CS_U8, CS_I8, CS_I16, CS_I32, CS_E2M1};

struct setup {
    struct twin in[2], out;
    struct cs_program program, other;
};

enum { BYTES = 1 << 16 };

/* Of two NaNs an addition keeps the one that the compiler chose, and a signalling NaN is no number to C's fmax: "x + 0 fmax" lets neither pass. */

/* A random shape; operand x of it, operand v of one element for each block. */
static void setup_begin(struct setup *s, const struct cs_device *device, const char *text, uint64_t seed) {
    struct random random = {cs_mix64(seed), 0};
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    s->program = parsed(text, names);
    s->program.ndim = 1 + (int)random_below(&random, 3);
    for (int d = 0; d < s->program.ndim; d++) s->program.shape[d] = 1 + random_below(&random, d + 1 == s->program.ndim ? 150 : 9);
    if (random_below(&random, 2)) s->program.shape[s->program.ndim - 1] = 64;
    for (size_t i = 0; i < s->program.n_operands; i++) {
        int64_t shape[CS_NDIM];
        struct cs_operand *operand = &s->program.operand[i];
        for (int d = 0; d < CS_NDIM; d++) {
            operand->block[d] = i && random_below(&random, 2) ? 1 + random_below(&random, 40) : 1;
            if (d < s->program.ndim) shape[d] = (s->program.shape[d] + operand->block[d] - 1) / operand->block[d];
        }
        twin_begin(&s->in[i], device, BYTES, seed + i);
        enum cs_dtype dtype = dtypes[random_below(&random, CS_COUNT(dtypes))];
        do operand->view = random_layout(&random, &s->in[i].ref, dtype, s->program.ndim, shape);
        while (cs_view_check(&operand->view) != CS_OK);
        s->other.operand[i] = *operand;
    }
    twin_begin(&s->out, device, BYTES, seed + 9);
    s->other = s->program;
    for (size_t i = 0; i < s->program.n_operands; i++) s->other.operand[i].view = twin_view(&s->in[i], &s->program.operand[i].view);
}

static void setup_end(struct setup *s, const char *what, uint64_t seed) {
    twin_assert_equal(&s->out, what, seed);
    for (size_t i = 0; i < s->program.n_operands; i++) twin_end(&s->in[i]);
    twin_end(&s->out);
}

static void programs_over_blocks_equal_the_reference(void **state) {
    (void)state;
    static const char *const texts[] = {"x + 0 fmax -3 * v", "x + 0 fmax 0.5 / v", "x as bf16 fmax -9 + v max -448 min 448", "x", "x float into v",
                                        "x xor v"};
    FOR_DEVICES(device) for (uint64_t seed = 0; seed < tested_part(400); seed++) {
        struct setup s;
        struct cs_view view, other;
        enum cs_dtype dtype = dtypes[seed % (CS_COUNT(dtypes) - 1)];
        setup_begin(&s, device, texts[seed % CS_COUNT(texts)], seed);
        ASSERT_OK(cs_view_make(&view, &s.out.ref, dtype, s.program.ndim, s.program.shape));
        other = twin_view(&s.out, &view);
        ASSERT_OK(cs_device_map(ref(), &s.program, &view));
        ASSERT_OK(cs_device_map(device, &s.other, &other));
        setup_end(&s, texts[seed % CS_COUNT(texts)], seed);
    }
}

static void maxima_over_blocks_equal_the_reference(void **state) {
    (void)state;
    static const char *const texts[] = {"x abs", "x", "x + 0 fmax -3 * v", "x max v abs"};
    FOR_DEVICES(device) for (uint64_t seed = 0; seed < tested_part(400); seed++) {
        struct setup s;
        struct cs_operand result = {0}, other;
        int64_t shape[CS_NDIM];
        setup_begin(&s, device, texts[seed % CS_COUNT(texts)], seed);
        struct random random = {seed, 0};
        for (int d = 0; d < CS_NDIM; d++) result.block[d] = 1 + random_below(&random, d + 1 == s.program.ndim ? 200 : 5);
        for (int d = 0; d < s.program.ndim; d++) shape[d] = (s.program.shape[d] + result.block[d] - 1) / result.block[d];
        ASSERT_OK(cs_view_make(&result.view, &s.out.ref, dtypes[seed % (CS_COUNT(dtypes) - 1)], s.program.ndim, shape));
        other = result;
        other.view = twin_view(&s.out, &result.view);
        ASSERT_OK(cs_device_maximum(ref(), &s.program, &result));
        ASSERT_OK(cs_device_maximum(device, &s.other, &other));
        setup_end(&s, "maximum", seed);
    }
}

/* Boxes of so many elements that they are cut into parts; NaNs and zeros of both signs lie in several of them. */
static void large_boxes_equal_the_reference(void **state) {
    (void)state;
    static const char *const texts[] = {"x abs", "x"};
    static const struct { int64_t shape[3], block[3]; } boxes[] = {
        {{3, 200, 700}, {1, 200, 700}}, {{2, 70000, 3}, {1, 70000, 3}}, {{1, 5, 40000}, {1, 5, 40000}}, {{400, 31, 17}, {400, 31, 17}}, {{400, 31, 17}, {400, 1, 17}}};
    FOR_DEVICES(device) for (size_t b = 0; b < CS_COUNT(boxes); b++) for (size_t t = 0; t < 4; t++) {
        struct twin in, out;
        struct cs_program_name names[CS_PROGRAM_OPERANDS];
        struct cs_program program = parsed(texts[t % 2], names), other;
        struct cs_operand result = {0}, other_result;
        int64_t shape[3], n = boxes[b].shape[0] * boxes[b].shape[1] * boxes[b].shape[2];
        twin_begin(&in, device, (size_t)n * 4, b);
        twin_begin(&out, device, 4096, 7);
        for (int64_t i = 0; i < n; i++) { /* the latter half of the cases: no number but zeros, and some NaNs */
            uint32_t *x = (uint32_t *)in.ref.data + i, number = t < 2 ? *x % 0x7F800000 | (*x & 0x80000000) : *x & 0x80000000;
            *x = cs_mix64((uint64_t)i) % 90000 == 0 && b % 2 == 0 ? 0x7F800000 | (*x & 0x807FFFFF) | 0x400000 : number;
        }
        ASSERT_OK(device->upload(device, in.other.data, in.ref.data, in.ref.bytes));
        program.ndim = 3;
        memcpy(program.shape, boxes[b].shape, sizeof boxes[b].shape);
        ASSERT_OK(cs_view_make(&program.operand[0].view, &in.ref, CS_F32, 3, boxes[b].shape));
        for (int d = 0; d < CS_NDIM; d++) program.operand[0].block[d] = result.block[d] = 1;
        for (int d = 0; d < 3; d++) {
            result.block[d] = boxes[b].block[d];
            shape[d] = (boxes[b].shape[d] + boxes[b].block[d] - 1) / boxes[b].block[d];
        }
        ASSERT_OK(cs_view_make(&result.view, &out.ref, t % 3 ? CS_F32 : CS_BF16, 3, shape));
        other = program;
        other.operand[0].view = twin_view(&in, &program.operand[0].view);
        other_result = result;
        other_result.view = twin_view(&out, &result.view);
        ASSERT_OK(cs_device_maximum(ref(), &program, &result));
        ASSERT_OK(cs_device_maximum(device, &other, &other_result));
        twin_assert_equal(&out, "maximum", b * 4 + t);
        twin_end(&in), twin_end(&out);
    }
}

static void four_bit_results_equal_the_reference_in_place_too(void **state) {
    (void)state;
    FOR_DEVICES(device) {
        struct twin in, out;
        struct cs_program_name names[CS_PROGRAM_OPERANDS];
        struct cs_program program = parsed("x * 1.5", names), other;
        struct cs_view f32, e2m1;
        twin_begin(&in, device, N * 4, 1);
        twin_begin(&out, device, N / 2, 2);
        for (uint32_t i = 0; i < N; i++) ((float *)in.ref.data)[i] = ((float)i - N / 2) / 256;
        ASSERT_OK(device->upload(device, in.other.data, in.ref.data, in.ref.bytes));
        ASSERT_OK(cs_view_make(&f32, &in.ref, CS_F32, 1, (int64_t[]){N / 2 * 2}));
        ASSERT_OK(cs_view_make(&e2m1, &out.ref, CS_E2M1, 1, (int64_t[]){N / 2 * 2}));
        program.ndim = 1, program.shape[0] = N / 2 * 2;
        program.operand[0] = (struct cs_operand){f32, {1}};
        other = program;
        other.operand[0].view = twin_view(&in, &f32);
        struct cs_view y = twin_view(&out, &e2m1);
        ASSERT_OK(cs_device_map(ref(), &program, &e2m1));
        ASSERT_OK(cs_device_map(device, &other, &y));
        ASSERT_OK(cs_device_map(ref(), &program, &f32));
        ASSERT_OK(cs_device_map(device, &other, &other.operand[0].view));
        twin_assert_equal(&out, "fp4", 0);
        twin_assert_equal(&in, "in place", 0);
        twin_end(&in), twin_end(&out);
    }
}

static void operands_on_the_host_are_staged(void **state) {
    (void)state;
    FOR_DEVICES(device) {
        struct setup s;
        struct cs_view view, other;
        size_t used = cs_gpu_memory_used(device);
        setup_begin(&s, device, "x + v", 5);
        for (size_t i = 0; i < 2; i++) {
            s.in[i].ref.kind = CS_STORAGE_HOST;
            s.other.operand[i].view = s.program.operand[i].view;
        }
        ASSERT_OK(cs_view_make(&view, &s.out.ref, CS_F32, s.program.ndim, s.program.shape));
        other = twin_view(&s.out, &view);
        ASSERT_OK(cs_device_map(ref(), &s.program, &view));
        ASSERT_OK(cs_device_map(device, &s.other, &other));
        setup_end(&s, "map of host bytes", 5);
        assert_int_equal(cs_gpu_memory_used(device), used);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_equals_the_reference),
        cmocka_unit_test(programs_over_blocks_equal_the_reference),
        cmocka_unit_test(maxima_over_blocks_equal_the_reference),
        cmocka_unit_test(large_boxes_equal_the_reference),
        cmocka_unit_test(four_bit_results_equal_the_reference_in_place_too),
        cmocka_unit_test(operands_on_the_host_are_staged),
    };
    int failed = cmocka_run_group_tests_name("32-bit indices", tests, NULL, NULL);
    cs_gpu_set_index_limit(0);
    return failed + cmocka_run_group_tests_name("64-bit indices", tests, NULL, NULL);
}
