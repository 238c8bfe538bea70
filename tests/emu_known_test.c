/* Known programs (gpu/known.h) on every device but the reference, against the reference: each row over all codes of its
 * operand, special and random numbers, in every way that its kernel takes, and in ways that it leaves to the interpreter;
 * and that post-loads leave nothing large to the interpreter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gpu/gpu.h"
#include "gpu/known.h"
#include "sim/bench/internal.h"
#include "tests/support_twin.h"

static const struct cs_device *ref(void) { return cs_device_by_name("ref"); }
static bool is_wide; /* in the group of tests where every index is: nothing is known there */

/* ---- numbers ---- */

static const float numbers[] = {448, -448, 1, 0x1p-9f, 1e-4f, 0, 0x1p-126f, -0.375f, 2, 128, 0x1p120f, INFINITY}; /* 0 × ∞ is a NaN of no operand */
static const uint32_t special[] = {0,          0x80000000, 1,          0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x43E00000,
                                   0x43DFFFFF, 0x43E80000, 0x43E80001, 0x43F00000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x477FF000,
                                   0x477FEFFF, 0x33000000, 0x33000001, 0x3C7FFFFF, 0x40D00000, 0x40D00001, 0x3E800000, 0x3E800001, 0x00400000, 0x7F000000, 0x7E800000, 0x00200000};

static uint32_t bits_of(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Numbers near all borders between two of f16, and so of all narrower formats; special ones; and any: no NaN. */
static uint32_t any_number(uint64_t i) {
    static const uint32_t ends[] = {0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF};
    uint64_t random = cs_mix64(i);
    uint32_t bits = i % 3 == 0 ? special[random % CS_COUNT(special)] : (uint32_t)random;
    if (i % 3 == 1) bits = (0x30000000 + (bits & 0x1FFFE000)) | (bits & 0x80000000) | ends[i / 3 % CS_COUNT(ends)];
    return (bits & 0x7FFFFFFF) > 0x7F800000 ? bits & 0x807FFFFF : bits;
}

/* Each code in turn; or, when numbers shall be of ordinary size, each sign and fraction, and zeros. */
static uint16_t some_bf16(size_t i, bool is_ordinary) {
    uint32_t code = (uint32_t)i * 40503 % 65536;
    if (is_ordinary && i % 50 == 7) return code & 0x8000;
    return (uint16_t)(is_ordinary ? (code & 0x807F) | (97 + (code >> 7) % 61) << 7 : code);
}

/* Each code of a narrow dtype in turn; NaNs in one operand of a program alone, since which of two an addition keeps is the
 * compiler's choice. */
static void fill(struct twin *twin, enum cs_dtype dtype, bool has_nan, uint64_t seed) {
    size_t n = twin->ref.bytes * 8 / (size_t)cs_dtype_bits(dtype);
    for (size_t i = 0; i < n; i++)
        if (cs_dtype_bits(dtype) == 8)
            ((uint8_t *)twin->ref.data)[i] = (uint8_t)(i + seed) ^ (!has_nan && (i + seed) % 128 == 127);
        else if (cs_dtype_bits(dtype) == 16)
            ((uint16_t *)twin->ref.data)[i] = some_bf16(i, !has_nan || seed % 2);
        else
            ((uint32_t *)twin->ref.data)[i] = has_nan && i % 97 == 5 ? 0x7FC00000 | (uint32_t)i : any_number(i + seed * 7919);
    ASSERT_OK(twin->device->upload(twin->device, twin->other.data, twin->ref.data, twin->ref.bytes));
}

/* ---- a program and where its operands lie ---- */

enum { IN_BYTES = 1 << 19, OUT_BYTES = 1 << 18 };

struct setup {
    struct twin in[CS_GPU_KNOWN_OPERANDS], out;
    struct random random;
    struct cs_program program, other;
    int64_t interpreted;
};

static void set_instructions(struct setup *s, const struct cs_gpu_known_program *row) {
    s->program.n_instructions = (size_t)row->n_instructions;
    s->program.n_operands = (size_t)row->n_operands;
    for (int i = 0; i < row->n_instructions; i++) {
        struct cs_instruction *instruction = &s->program.instruction[i];
        bool takes_bits = row->instruction[i].code >= CS_CODE_XOR;
        *instruction = (struct cs_instruction){.code = row->instruction[i].code, .operand = row->instruction[i].operand, .dtype = row->instruction[i].dtype};
        instruction->number = numbers[random_below(&s->random, CS_COUNT(numbers))];
        instruction->bits = takes_bits ? (uint32_t)random_below(&s->random, 40) : bits_of(instruction->number);
        if (takes_bits && random_below(&s->random, 4) == 0) instruction->bits = 0x7F800000;
    }
}

/* Up to three dimensions, the last of whole groups. */
static void set_shape(struct setup *s) {
    struct random *random = &s->random;
    s->program.ndim = 1 + (int)random_below(random, 3);
    for (int d = 0; d < s->program.ndim; d++) s->program.shape[d] = 1 + random_below(random, 12);
    s->program.shape[s->program.ndim - 1] = 16 * (1 + random_below(random, s->program.ndim == 1 ? 4096 : 24));
}

/* The first operand lies densely, in rows that may have gaps of whole groups. */
static struct cs_view dense_view(struct setup *s, struct cs_storage *storage, enum cs_dtype dtype) {
    struct cs_view view;
    int64_t pitch = s->program.shape[s->program.ndim - 1] + 16 * random_below(&s->random, 2);
    ASSERT_OK(cs_view_make(&view, storage, dtype, s->program.ndim, s->program.shape));
    view.offset = 16 * random_below(&s->random, 3);
    for (int d = s->program.ndim - 2; d >= 0; d--) {
        view.stride[d] = pitch;
        pitch *= s->program.shape[d];
    }
    return view;
}

/* A number for a group or more of them: blocks of any size, but of whole groups in the last dimension. */
static void set_spread(struct setup *s, struct cs_operand *operand, struct cs_storage *storage, enum cs_dtype dtype) {
    int64_t shape[CS_NDIM];
    int inner = s->program.ndim - 1;
    for (int d = 0; d <= inner; d++) {
        int64_t extent = s->program.shape[d];
        operand->block[d] = d == inner ? 16 * (1 + random_below(&s->random, 9)) : 1 + random_below(&s->random, 4);
        if (random_below(&s->random, 3) == 0) operand->block[d] = extent;
        shape[d] = (extent + operand->block[d] - 1) / operand->block[d];
    }
    ASSERT_OK(cs_view_make(&operand->view, storage, dtype, s->program.ndim, shape));
}

static void setup_begin(struct setup *s, const struct cs_device *device, const struct cs_gpu_known_program *row, uint64_t seed) {
    *s = (struct setup){.random = {cs_mix64(seed), 0}};
    set_instructions(s, row);
    set_shape(s);
    for (size_t i = 0; i < s->program.n_operands; i++) {
        struct cs_operand *operand = &s->program.operand[i];
        twin_begin(&s->in[i], device, IN_BYTES, seed + i);
        fill(&s->in[i], row->operand[i], i == seed / 2 % s->program.n_operands, seed + i);
        if (i > 0) {
            set_spread(s, operand, &s->in[i].ref, row->operand[i]);
            continue;
        }
        operand->view = dense_view(s, &s->in[i].ref, row->operand[i]);
        for (int d = 0; d < CS_NDIM; d++) operand->block[d] = 1;
    }
    twin_begin(&s->out, device, OUT_BYTES, seed + 9);
}

static void setup_run(struct setup *s) {
    s->other = s->program;
    for (size_t i = 0; i < s->program.n_operands; i++) s->other.operand[i].view = twin_view(&s->in[i], &s->program.operand[i].view);
    s->interpreted = cs_gpu_interpreted();
}

static void setup_end(struct setup *s, const char *what, uint64_t seed) {
    twin_assert_equal(&s->out, what, seed);
    for (size_t i = 0; i < s->program.n_operands; i++) {
        twin_assert_equal(&s->in[i], what, seed);
        twin_end(&s->in[i]);
    }
    twin_end(&s->out);
}

static void assert_known(const struct setup *s, const char *what) {
    if (!is_wide && cs_gpu_interpreted() != s->interpreted) fail_msg("\"%s\" was interpreted", what);
    if (is_wide && cs_gpu_interpreted() == s->interpreted) fail_msg("\"%s\" was not interpreted", what);
}

static void run_map(struct setup *s, const struct cs_view *destination, const struct cs_view *other) {
    setup_run(s);
    ASSERT_OK(cs_device_map(ref(), &s->program, destination));
    ASSERT_OK(cs_device_map(s->out.device, &s->other, other));
}

/* ---- maps ---- */

enum { CASES = 12 };

static void each_known_map_equals_the_reference(void **state) {
    (void)state;
    FOR_DEVICES(device) for (int r = 0; r < CS_GPU_N_KNOWN_MAPS; r++) for (uint64_t seed = 0; seed < tested_part(CASES); seed++) {
        const struct cs_gpu_known_program *row = &cs_gpu_known_maps[r];
        struct setup s;
        setup_begin(&s, device, row, seed);
        struct cs_view view = dense_view(&s, &s.out.ref, row->to), other = twin_view(&s.out, &view);
        if (row->to == CS_E2M1) { /* rows of whole bytes, and nothing between them */
            ASSERT_OK(cs_view_make(&view, &s.out.ref, row->to, s.program.ndim, s.program.shape));
            other = twin_view(&s.out, &view);
        }
        run_map(&s, &view, &other);
        assert_known(&s, row->text);
        setup_end(&s, row->text, seed);
    }
}

static void a_known_map_works_in_place(void **state) {
    (void)state;
    FOR_DEVICES(device) for (int r = 0; r < CS_GPU_N_KNOWN_MAPS; r++) {
        const struct cs_gpu_known_program *row = &cs_gpu_known_maps[r];
        struct setup s;
        if (row->to != row->operand[0]) continue;
        setup_begin(&s, device, row, 77);
        struct cs_view other = twin_view(&s.in[0], &s.program.operand[0].view);
        run_map(&s, &s.program.operand[0].view, &other);
        assert_known(&s, row->text);
        setup_end(&s, row->text, 77);
    }
}

/* ---- conversions of dense groups ---- */

static void dense_conversions_equal_the_reference(void **state) {
    (void)state;
    static const struct { enum cs_dtype from, to; } rows[] = {{CS_E4M3, CS_BF16}, {CS_E4M3, CS_F16}, {CS_BF16, CS_F32}};
    static const struct { int64_t n, start; } parts[] = {{1 << 15, 0}, {4096, 16}, {4096, 8}, {1000, 0}};
    FOR_DEVICES(device) for (size_t r = 0; r < CS_COUNT(rows); r++) for (size_t p = 0; p < CS_COUNT(parts); p++) {
        struct twin in, out;
        struct cs_view from, to, other_from, other_to;
        twin_begin(&in, device, IN_BYTES, r);
        twin_begin(&out, device, IN_BYTES, p);
        fill(&in, rows[r].from, true, 2 * r);
        ASSERT_OK(cs_view_make(&from, &in.ref, rows[r].from, 1, &parts[p].n));
        ASSERT_OK(cs_view_make(&to, &out.ref, rows[r].to, 1, &parts[p].n));
        from.offset = to.offset = parts[p].start;
        other_from = twin_view(&in, &from), other_to = twin_view(&out, &to);
        ASSERT_OK(cs_device_copy(ref(), &to, &from));
        ASSERT_OK(cs_device_copy(device, &other_to, &other_from));
        twin_assert_equal(&out, "conversion", r * 10 + p);
        twin_end(&in), twin_end(&out);
    }
}

/* ---- maxima ---- */

/* Few NaNs; the zeros of `kind` 1 have nothing but zeros of both signs beside them. */
static void calm(struct twin *twin, enum cs_dtype dtype, uint64_t kind) {
    int bits = cs_dtype_bits(dtype);
    uint32_t sign = UINT32_C(1) << (bits - 1), infinity = dtype == CS_E4M3 ? 0x7E : dtype == CS_BF16 ? 0x7F80 : 0x7F800000;
    for (size_t i = 0; i < twin->ref.bytes * 8 / (size_t)bits; i++) {
        uint64_t random = cs_mix64(i + kind);
        uint32_t number = (uint32_t)random & (sign - 1);
        number = (number > infinity && (random >> 32) % 1000 ? infinity / 2 : kind % 3 == 1 ? 0 : number) | ((uint32_t)(random >> 40) & 1) * sign;
        if (kind % 3 == 1 && (random >> 32) % 3000 == 0 && kind % 2) number = infinity + 1;
        memcpy((unsigned char *)twin->ref.data + i * (size_t)bits / 8, &number, (size_t)bits / 8);
    }
    ASSERT_OK(twin->device->upload(twin->device, twin->other.data, twin->ref.data, twin->ref.bytes));
}

static struct cs_operand boxes(struct setup *s, enum cs_dtype dtype) {
    struct cs_operand result = {0};
    int64_t shape[CS_NDIM];
    int inner = s->program.ndim - 1;
    for (int d = 0; d < CS_NDIM; d++) result.block[d] = d == inner ? 16 * (1 + random_below(&s->random, 40)) : 1 + random_below(&s->random, 8);
    for (int d = 0; d <= inner; d++) {
        if (random_below(&s->random, 4) == 0) result.block[d] = s->program.shape[d];
        if (random_below(&s->random, 4) == 0 && d < inner) result.block[d] = 1;
        shape[d] = (s->program.shape[d] + result.block[d] - 1) / result.block[d];
    }
    ASSERT_OK(cs_view_make(&result.view, &s->out.ref, dtype, s->program.ndim, shape));
    return result;
}

static void run_maximum(struct setup *s, const struct cs_operand *result) {
    struct cs_operand other = *result;
    other.view = twin_view(&s->out, &result->view);
    setup_run(s);
    ASSERT_OK(cs_device_maximum(ref(), &s->program, result));
    ASSERT_OK(cs_device_maximum(s->out.device, &s->other, &other));
}

static void each_known_maximum_equals_the_reference(void **state) {
    (void)state;
    static const enum cs_dtype results[] = {CS_F32, CS_BF16, CS_F32, CS_E4M3};
    FOR_DEVICES(device) for (int r = 0; r < CS_GPU_N_KNOWN_MAXIMA; r++) for (uint64_t seed = 0; seed < tested_part(3 * CASES); seed++) {
        const struct cs_gpu_known_program *row = &cs_gpu_known_maxima[r];
        struct setup s;
        setup_begin(&s, device, row, seed);
        calm(&s.in[0], row->operand[0], seed);
        struct cs_operand result = boxes(&s, results[seed % CS_COUNT(results)]);
        run_maximum(&s, &result);
        assert_known(&s, row->text);
        setup_end(&s, row->text, seed);
    }
}

/* Boxes that are cut into parts: the whole, or several in one dimension; numbers and zeros of both signs, some NaNs. */
static void large_known_boxes_equal_the_reference(void **state) {
    (void)state;
    static const struct { int64_t shape[3], block[3]; } cases[] = {
        {{4, 64, 512}, {4, 64, 512}}, {{4, 64, 512}, {1, 64, 512}}, {{2, 96, 800}, {1, 96, 800}}, {{3, 2, 65536}, {1, 1, 32768}}, {{1, 3, 100000}, {1, 3, 100000}}};
    FOR_DEVICES(device) for (size_t c = 0; c < CS_COUNT(cases); c++) for (uint64_t kind = 0; kind < 6; kind++) {
        const struct cs_gpu_known_program *row = &cs_gpu_known_maxima[kind % 2 ? CS_GPU_MAXIMUM_SIZE : CS_GPU_MAXIMUM_LARGEST_SCALE];
        struct setup s;
        int64_t shape[3];
        setup_begin(&s, device, row, kind);
        twin_end(&s.in[0]);
        twin_begin(&s.in[0], device, 1 << 20, kind);
        calm(&s.in[0], CS_BF16, kind);
        s.program.ndim = 3;
        memcpy(s.program.shape, cases[c].shape, sizeof cases[c].shape);
        struct cs_operand result = {0};
        for (int d = 0; d < CS_NDIM; d++) result.block[d] = d < 3 ? cases[c].block[d] : 1;
        for (int d = 0; d < 3; d++) shape[d] = (cases[c].shape[d] + result.block[d] - 1) / result.block[d];
        ASSERT_OK(cs_view_make(&s.program.operand[0].view, &s.in[0].ref, CS_BF16, 3, cases[c].shape));
        ASSERT_OK(cs_view_make(&result.view, &s.out.ref, CS_F32, 3, shape));
        run_maximum(&s, &result);
        setup_end(&s, row->text, c * 10 + kind);
    }
}

/* ---- what is left to the interpreter ---- */

static void spoil_nothing(struct setup *s) { (void)s; }
static void spoil_start(struct setup *s) { s->program.operand[0].view.offset = 8; }
static void spoil_row(struct setup *s) {
    struct cs_view *view = &s->program.operand[0].view;
    s->program.ndim = view->ndim = s->program.operand[1].view.ndim = 2;
    for (int d = 0; d < 2; d++) s->program.shape[d] = view->shape[d] = d ? 40 : 6, s->program.operand[1].view.shape[d] = 1, s->program.operand[1].block[d] = 40;
    view->stride[0] = 41, view->stride[1] = 1;
}
static void spoil_block(struct setup *s) {
    int inner = s->program.ndim - 1;
    s->program.operand[1].block[inner] = 8;
    s->program.operand[1].view.shape[inner] = (s->program.shape[inner] + 7) / 8;
}
static void spoil_dtype(struct setup *s) { s->program.operand[0].view.dtype = CS_F16; }

/* Each of these takes one thing away that the kernel of "a / b max n min n" needs. */
static void what_a_kernel_cannot_is_interpreted(void **state) {
    (void)state;
    static const struct { const char *what; void (*spoil)(struct setup *s); bool is_known; } cases[] = {
        {"nothing spoiled", spoil_nothing, true}, {"a start within a group", spoil_start, false}, {"rows of parts of groups", spoil_row, false},
        {"blocks of less than a group", spoil_block, false}, {"another dtype", spoil_dtype, false}};
    FOR_DEVICES(device) for (size_t c = 0; c < CS_COUNT(cases); c++) {
        const struct cs_gpu_known_program *row = &cs_gpu_known_maps[CS_GPU_MAP_QUANTISE_ROW];
        struct setup s;
        setup_begin(&s, device, row, 3);
        cases[c].spoil(&s);
        struct cs_view view, other;
        ASSERT_OK(cs_view_make(&view, &s.out.ref, row->to, s.program.ndim, s.program.shape));
        other = twin_view(&s.out, &view);
        run_map(&s, &view, &other);
        assert_int_equal(cs_gpu_interpreted() == s.interpreted, cases[c].is_known && !is_wide);
        setup_end(&s, cases[c].what, c);
    }
}

/* Every post-load of bench, over small weights: what is interpreted are numbers of experts, rows and large blocks. A method
 * whose program over all weights, or over the scales of groups, has no row in known.h fails here: give it one. */
static void post_loads_interpret_nothing_large(void **state) {
    (void)state;
    struct cs_bench bench = {.device = cs_device_by_name("emu"), .host_device = ref(), .bytes = CS_BENCH_LEAST};
    struct cs_memory memory = cs_device_memory(bench.device);
    struct cs_arena arena = {0};
    cs_pool_init(&bench.pool, &memory);
    for (size_t i = 0; i < cs_bench_n_post_loads(); i++) {
        struct cs_bench_row row;
        int64_t bytes, before;
        ASSERT_OK(cs_bench_post_load_row(i, &arena, &row));
        ASSERT_OK(row.prepare(&bench, &row));
        before = cs_gpu_interpreted();
        ASSERT_OK(row.run(&bench, &row, &bytes));
        row.clean(&bench);
        if ((cs_gpu_interpreted() - before) * 100 > bytes)
            fail_msg("%s: %" PRId64 " elements of programs without a kernel, for %" PRId64 " bytes", row.what, cs_gpu_interpreted() - before, bytes);
    }
    cs_pool_close(&bench.pool);
    cs_arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_known_map_equals_the_reference),
        cmocka_unit_test(a_known_map_works_in_place),
        cmocka_unit_test(dense_conversions_equal_the_reference),
        cmocka_unit_test(each_known_maximum_equals_the_reference),
        cmocka_unit_test(large_known_boxes_equal_the_reference),
        cmocka_unit_test(what_a_kernel_cannot_is_interpreted),
    };
    const struct CMUnitTest of_methods[] = {cmocka_unit_test(post_loads_interpret_nothing_large)};
    int failed = cmocka_run_group_tests_name("known", tests, NULL, NULL);
    failed += cmocka_run_group_tests_name("methods", of_methods, NULL, NULL);
    cs_gpu_set_index_limit(0);
    is_wide = true;
    return failed + cmocka_run_group_tests_name("all of it interpreted", tests, NULL, NULL);
}
