/* Programs (sim/device/device.h), obviously right: each instruction runs over a short run of elements before the next
 * one does. Every float operation is one C operation on floats; the build forbids contraction. */
#include "ref/ref.h"
#include "ref/walk.h"

#include <math.h>

enum { RUN = 128, PARALLEL_FROM = 1 << 14 };

/* n elements along the last dimension, from index `at`. */
struct run {
    int64_t at[CS_NDIM];
    int64_t n;
};

static float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t as_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- elements ---- */

static uint32_t read_element(enum cs_dtype dtype, uint64_t bits) {
    if (dtype == CS_E2M1) return as_bits((float)cs_dtype_decode(dtype, bits));
    if (cs_dtype_is_floating(dtype)) return (uint32_t)cs_ref_convert_bits(CS_F32, dtype, bits);
    return (uint32_t)cs_ref_convert_bits(CS_I32, dtype, bits);
}

/* Magnitudes 0 .5 1 1.5 2 3 4 6; ties go to the even code, NaN to 6. */
static uint64_t e2m1_of_f32(float value) {
    static const float halfway[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
    float magnitude = fabsf(value);
    uint64_t code = 0;
    for (unsigned i = 0; i < CS_COUNT(halfway); i++)
        if (!(magnitude < halfway[i]) && (i % 2 || magnitude != halfway[i])) code = i + 1;
    return code | (signbit(value) ? 8 : 0);
}

static uint64_t narrow(enum cs_dtype dtype, uint32_t bits) {
    if (dtype == CS_E2M1) return e2m1_of_f32(as_float(bits));
    return cs_dtype_is_floating(dtype) ? cs_ref_convert_bits(dtype, CS_F32, bits) : bits;
}

/* A maximum is taken in the result's dtype, where NaN is another one than after a cast. */
static uint64_t narrow_maximum(enum cs_dtype dtype, uint32_t bits) {
    return dtype == CS_BF16 && isnan(as_float(bits)) ? 0x7FC0 : narrow(dtype, bits);
}

static void read_run(const struct cs_program *program, const struct cs_operand *operand, const struct run *run,
                     uint32_t *to) {
    const struct cs_view *view = &operand->view;
    int inner = program->ndim - 1, bits = cs_dtype_bits(view->dtype);
    int64_t start = view->offset;
    for (int d = 0; d < inner; d++) start += run->at[d] / operand->block[d] * view->stride[d];
    for (int64_t i = 0; i < run->n; i++) {
        int64_t position = start + (run->at[inner] + i) / operand->block[inner] * view->stride[inner];
        to[i] = read_element(view->dtype, cs_ref_load(view->storage->data, bits, position));
    }
}

/* ---- one instruction on one element ---- */

static float largest(float a, float b) { return isnan(a) || a > b ? a : b; }
static float smallest(float a, float b) { return isnan(a) || a < b ? a : b; }

/* 2^x of a whole number; beyond what f32 holds: 0 or infinity. */
static float power_of_two(float x) {
    if (isnan(x)) return x;
    return (float)ldexp(1.0, (int)(x > 1000.0f ? 1000.0f : x < -1000.0f ? -1000.0f : x));
}

static float compute(enum cs_code code, float x, float v) {
    switch (code) {
    case CS_CODE_ADD: return x + v;
    case CS_CODE_MULTIPLY: return x * v;
    case CS_CODE_DIVIDE: return x / v;
    case CS_CODE_INTO: return v / x;
    case CS_CODE_MAXIMUM: return largest(x, v);
    case CS_CODE_MINIMUM: return smallest(x, v);
    /* C leaves the sign of a zero to the library and the compiler: the first of two equal numbers wins here. */
    case CS_CODE_FMAX: return isnan(v) || x >= v ? x : v;
    case CS_CODE_FMIN: return isnan(v) || x <= v ? x : v;
    case CS_CODE_IF_ZERO: return x == 0.0f ? v : x;
    case CS_CODE_ZERO_LOW: return x < v ? 0.0f : x;
    case CS_CODE_LOG2: return (float)log2((double)x);
    case CS_CODE_EXP2: return power_of_two(x);
    case CS_CODE_CEIL: return ceilf(x);
    case CS_CODE_FLOOR: return floorf(x);
    case CS_CODE_NEAREST: return nearbyintf(x);
    default: return x;
    }
}

static uint32_t step(const struct cs_instruction *instruction, uint32_t x, uint32_t v) {
    switch (instruction->code) {
    case CS_CODE_LOAD: return v;
    case CS_CODE_ABSOLUTE: return x & 0x7FFFFFFF;
    case CS_CODE_ROUND: return read_element(instruction->dtype, narrow(instruction->dtype, x));
    case CS_CODE_FLOAT: return as_bits((float)x);
    case CS_CODE_INTEGER: return (uint32_t)cs_ref_convert_bits(CS_I32, CS_F32, x);
    case CS_CODE_XOR: return x ^ v;
    case CS_CODE_AND: return x & v;
    case CS_CODE_OR: return x | v;
    case CS_CODE_LEFT: return v < 32 ? x << v : 0;
    case CS_CODE_RIGHT: return v < 32 ? x >> v : 0;
    case CS_CODE_PLUS: return x + v;
    case CS_CODE_LEAST: return x < v ? x : v;
    case CS_CODE_MOST: return x > v ? x : v;
    case CS_CODE_DROP: return x == v ? 0 : x;
    default: return as_bits(compute(instruction->code, as_float(x), as_float(v)));
    }
}

static void evaluate(const struct cs_program *program, const struct run *run, uint32_t *x) {
    uint32_t v[RUN];
    for (size_t i = 0; i < program->n_instructions; i++) {
        const struct cs_instruction *instruction = &program->instruction[i];
        if (instruction->operand >= 0) read_run(program, &program->operand[instruction->operand], run, v);
        for (int64_t j = 0; j < run->n; j++)
            x[j] = step(instruction, x[j], instruction->operand >= 0 ? v[j] : instruction->bits);
    }
}

/* ---- all elements ---- */

static void unravel(int ndim, const int64_t *shape, int64_t index, int64_t *at) {
    for (int d = ndim - 1; d >= 0; d--) {
        at[d] = index % shape[d];
        index /= shape[d];
    }
}

static void map_run(const struct cs_program *program, const struct cs_view *destination, struct run *run) {
    uint32_t x[RUN] = {0};
    int inner = program->ndim - 1, bits = cs_dtype_bits(destination->dtype);
    evaluate(program, run, x);
    int64_t position = destination->offset;
    for (int d = 0; d <= inner; d++) position += run->at[d] * destination->stride[d];
    for (int64_t i = 0; i < run->n; i++, position += destination->stride[inner])
        cs_ref_store(destination->storage->data, bits, position, narrow(destination->dtype, x[i]));
}

enum cs_status cs_ref_map(const struct cs_device *device, const struct cs_program *program,
                          const struct cs_view *destination) {
    (void)device;
    int inner = program->ndim - 1;
    int64_t columns = program->shape[inner], rows = cs_view_numel(destination) / columns;
#pragma omp parallel for schedule(static) if (rows * columns >= PARALLEL_FROM)
    for (int64_t row = 0; row < rows; row++) {
        struct run run;
        unravel(inner, program->shape, row, run.at);
        for (int64_t start = 0; start < columns; start += RUN) {
            run.at[inner] = start;
            run.n = columns - start < RUN ? columns - start : RUN;
            map_run(program, destination, &run);
        }
    }
    return CS_OK;
}

/* The box of indices behind one element of the destination. */
struct box {
    int64_t start[CS_NDIM], extent[CS_NDIM];
};

static float largest_of_run(const struct cs_program *program, const struct run *run, bool is_first, float most) {
    uint32_t x[RUN] = {0};
    evaluate(program, run, x);
    for (int64_t i = 0; i < run->n; i++) most = is_first && i == 0 ? as_float(x[0]) : largest(most, as_float(x[i]));
    return most;
}

static float largest_of_box(const struct cs_program *program, const struct box *box) {
    int inner = program->ndim - 1;
    int64_t rows = 1;
    float most = 0;
    for (int d = 0; d < inner; d++) rows *= box->extent[d];
    for (int64_t row = 0; row < rows; row++) {
        struct run run;
        unravel(inner, box->extent, row, run.at);
        for (int d = 0; d < inner; d++) run.at[d] += box->start[d];
        for (int64_t start = 0; start < box->extent[inner]; start += RUN) {
            run.at[inner] = box->start[inner] + start;
            run.n = box->extent[inner] - start < RUN ? box->extent[inner] - start : RUN;
            most = largest_of_run(program, &run, row == 0 && start == 0, most);
        }
    }
    return most;
}

enum cs_status cs_ref_maximum(const struct cs_device *device, const struct cs_program *program,
                              const struct cs_operand *destination) {
    (void)device;
    const struct cs_view *view = &destination->view;
    int bits = cs_dtype_bits(view->dtype);
    int64_t n = cs_view_numel(view);
#pragma omp parallel for schedule(static) if (n >= 64)
    for (int64_t i = 0; i < n; i++) {
        struct box box;
        unravel(program->ndim, view->shape, i, box.start);
        int64_t position = view->offset;
        for (int d = 0; d < program->ndim; d++) {
            position += box.start[d] * view->stride[d];
            box.start[d] *= destination->block[d];
            int64_t left = program->shape[d] - box.start[d];
            box.extent[d] = left < destination->block[d] ? left : destination->block[d];
        }
        uint64_t most = narrow_maximum(view->dtype, as_bits(largest_of_box(program, &box)));
        cs_ref_store(view->storage->data, bits, position, most);
    }
    return CS_OK;
}
