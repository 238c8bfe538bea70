/* Programs (sim/device/device.h), obviously right: each instruction runs over a short run of elements before the next
 * one does. Every float operation is one C operation on floats; the build forbids contraction. What an instruction is,
 * and of which dtype, is asked once a run, so that its loop is one that compilers vectorise. */
#include "ref/narrow.h"
#include "ref/ref.h"
#include "ref/walk.h"

#include <math.h>

enum { RUN = 256, PARALLEL_FROM = 1 << 14 };

/* n elements along the last dimension, from index `at`. */
struct run {
    int64_t at[CS_NDIM];
    int64_t n;
};

/* ---- elements ---- */

static uint32_t read_element(enum cs_dtype dtype, uint64_t bits) {
    if (dtype == CS_E2M1) return cs_ref_bits_of_f32((float)cs_dtype_decode(dtype, bits));
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
    if (dtype == CS_E2M1) return e2m1_of_f32(cs_ref_f32_of_bits(bits));
    return cs_dtype_is_floating(dtype) ? cs_ref_convert_bits(dtype, CS_F32, bits) : bits;
}

/* A maximum is taken in the result's dtype, where NaN is another one than after a cast. */
static uint64_t narrow_maximum(enum cs_dtype dtype, uint32_t bits) {
    return dtype == CS_BF16 && isnan(cs_ref_f32_of_bits(bits)) ? 0x7FC0 : narrow(dtype, bits);
}

/* Values of all codes of narrow dtypes, made once for a program. */
struct tables {
    bool is_made[CS_N_DTYPES];
    uint32_t value[CS_N_DTYPES][256];
};

static void make_table(struct tables *tables, enum cs_dtype dtype) {
    int bits = cs_dtype_bits(dtype);
    if (bits > 8 || tables->is_made[dtype]) return;
    tables->is_made[dtype] = true;
    for (uint32_t code = 0; code < 1u << bits; code++) tables->value[dtype][code] = read_element(dtype, code);
}

static void make_tables(struct tables *tables, const struct cs_program *program) {
    memset(tables->is_made, 0, sizeof tables->is_made);
    for (size_t i = 0; i < program->n_operands; i++) make_table(tables, program->operand[i].view.dtype);
    for (size_t i = 0; i < program->n_instructions; i++)
        if (program->instruction[i].code == CS_CODE_ROUND) make_table(tables, program->instruction[i].dtype);
}

/* n elements of a view, `stride` apart. */
static void read_elements(const struct tables *tables, const struct cs_view *view, int64_t position, int64_t stride,
                          int64_t n, uint32_t *to) {
    const unsigned char *base = view->storage->data;
    const uint32_t *table = tables->value[view->dtype];
    int bits = cs_dtype_bits(view->dtype);
    if (bits == 8)
        for (int64_t i = 0; i < n; i++) to[i] = table[base[position + i * stride]];
    else if (bits == 4)
        for (int64_t i = 0; i < n; i++) to[i] = table[cs_ref_load(base, 4, position + i * stride)];
    else if (view->dtype == CS_BF16)
        for (int64_t i = 0; i < n; i++) to[i] = (uint32_t)cs_ref_load(base, 16, position + i * stride) << 16;
    else if (bits == 32)
        for (int64_t i = 0; i < n; i++) to[i] = (uint32_t)cs_ref_load(base, 32, position + i * stride);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = read_element(view->dtype, cs_ref_load(base, bits, position + i * stride));
}

/* Indices of one block read one element. */
static void read_run(const struct cs_program *program, const struct tables *tables, const struct cs_operand *operand,
                     const struct run *run, uint32_t *to) {
    const struct cs_view *view = &operand->view;
    int inner = program->ndim - 1;
    int64_t start = view->offset, block = operand->block[inner], stride = view->stride[inner];
    for (int d = 0; d < inner; d++) start += run->at[d] / operand->block[d] * view->stride[d];
    if (block == 1) {
        read_elements(tables, view, start + run->at[inner] * stride, stride, run->n, to);
        return;
    }
    for (int64_t i = 0; i < run->n;) {
        int64_t index = run->at[inner] + i, left = block - index % block;
        int64_t end = left < run->n - i ? i + left : run->n;
        uint32_t value;
        read_elements(tables, view, start + index / block * stride, 0, 1, &value);
        for (; i < end; i++) to[i] = value;
    }
}

/* n results as elements, `stride` apart. */
static void write_elements(const struct cs_view *view, int64_t position, int64_t stride, int64_t n,
                           const uint32_t *from) {
    unsigned char *base = view->storage->data;
    int bits = cs_dtype_bits(view->dtype);
    if (bits == 32)
        for (int64_t i = 0; i < n; i++) cs_ref_store(base, 32, position + i * stride, from[i]);
    else if (view->dtype == CS_BF16)
        for (int64_t i = 0; i < n; i++)
            cs_ref_store(base, 16, position + i * stride, cs_ref_bf16_of_f32(from[i], CS_REF_BF16_NAN_OF_F32));
    else if (view->dtype == CS_E4M3)
        for (int64_t i = 0; i < n; i++) cs_ref_store(base, 8, position + i * stride, cs_ref_e4m3_of_f32(from[i]));
    else
        for (int64_t i = 0; i < n; i++) cs_ref_store(base, bits, position + i * stride, narrow(view->dtype, from[i]));
}

/* ---- one instruction on one element ---- */

static float largest(float a, float b) { return isnan(a) || a > b ? a : b; }
static float smallest(float a, float b) { return isnan(a) || a < b ? a : b; }

/* Libraries differ in whether rounding makes a signalling NaN quiet: it does here. */
static float whole(float rounded) {
    uint32_t bits = cs_ref_bits_of_f32(rounded);
    return isnan(rounded) ? cs_ref_f32_of_bits(bits | 0x400000) : rounded;
}

/* 2^x of a whole number; beyond what f32 holds: 0 or infinity. */
static float power_of_two(float x) {
    if (isnan(x)) return x;
    return (float)ldexp(1.0, (int)(x > 1000.0f ? 1000.0f : x < -1000.0f ? -1000.0f : x));
}

/* C leaves the sign of a zero to the library and the compiler: the first of two equal numbers wins here. */
static float fmax_first(float x, float v) { return isnan(v) || x >= v ? x : v; }
static float fmin_first(float x, float v) { return isnan(v) || x <= v ? x : v; }

/* ---- one instruction on a run ---- */

#define EACH(result)                                                                                                   \
    for (int64_t j = 0; j < n; j++) {                                                                                  \
        const uint32_t a = x[j], b = v[j];                                                                             \
        (void)a, (void)b;                                                                                              \
        x[j] = (result);                                                                                               \
    }                                                                                                                  \
    return
#define EACH_FLOAT(result)                                                                                             \
    for (int64_t j = 0; j < n; j++) {                                                                                  \
        const float a = cs_ref_f32_of_bits(x[j]), b = cs_ref_f32_of_bits(v[j]);                                        \
        (void)b;                                                                                                       \
        x[j] = cs_ref_bits_of_f32(result);                                                                             \
    }                                                                                                                  \
    return

static void compute_bits(enum cs_code code, int64_t n, uint32_t *restrict x, const uint32_t *restrict v) {
    switch (code) {
    case CS_CODE_LOAD:
        EACH(b);
    case CS_CODE_ABSOLUTE:
        EACH(a & 0x7FFFFFFF);
    case CS_CODE_FLOAT:
        EACH(cs_ref_bits_of_f32((float)a));
    case CS_CODE_INTEGER:
        EACH((uint32_t)cs_ref_convert_bits(CS_I32, CS_F32, a));
    case CS_CODE_XOR:
        EACH(a ^ b);
    case CS_CODE_AND:
        EACH(a & b);
    case CS_CODE_OR:
        EACH(a | b);
    case CS_CODE_LEFT:
        EACH(b < 32 ? a << b : 0);
    case CS_CODE_RIGHT:
        EACH(b < 32 ? a >> b : 0);
    case CS_CODE_PLUS:
        EACH(a + b);
    case CS_CODE_LEAST:
        EACH(a < b ? a : b);
    case CS_CODE_MOST:
        EACH(a > b ? a : b);
    case CS_CODE_DROP:
        EACH(a == b ? 0 : a);
    default:
        return;
    }
}

static void compute_floats(enum cs_code code, int64_t n, uint32_t *restrict x, const uint32_t *restrict v) {
    switch (code) {
    case CS_CODE_ADD:
        EACH_FLOAT(a + b);
    case CS_CODE_MULTIPLY:
        EACH_FLOAT(a * b);
    case CS_CODE_DIVIDE:
        EACH_FLOAT(a / b);
    case CS_CODE_INTO:
        EACH_FLOAT(b / a);
    case CS_CODE_MAXIMUM:
        EACH_FLOAT(largest(a, b));
    case CS_CODE_MINIMUM:
        EACH_FLOAT(smallest(a, b));
    case CS_CODE_FMAX:
        EACH_FLOAT(fmax_first(a, b));
    case CS_CODE_FMIN:
        EACH_FLOAT(fmin_first(a, b));
    case CS_CODE_IF_ZERO:
        EACH_FLOAT(a == 0.0f ? b : a);
    case CS_CODE_ZERO_LOW:
        EACH_FLOAT(a < b ? 0.0f : a);
    case CS_CODE_LOG2:
        EACH_FLOAT((float)log2((double)a));
    case CS_CODE_EXP2:
        EACH_FLOAT(power_of_two(a));
    case CS_CODE_CEIL:
        EACH_FLOAT(whole(ceilf(a)));
    case CS_CODE_FLOOR:
        EACH_FLOAT(whole(floorf(a)));
    case CS_CODE_NEAREST:
        EACH_FLOAT(whole(nearbyintf(a)));
    default:
        compute_bits(code, n, x, v);
        return;
    }
}

static void round_run(const struct tables *tables, enum cs_dtype dtype, int64_t n, uint32_t *x) {
    const uint32_t *table = tables->is_made[dtype] ? tables->value[dtype] : NULL;
    if (dtype == CS_BF16)
        for (int64_t j = 0; j < n; j++) x[j] = cs_ref_bf16_of_f32(x[j], CS_REF_BF16_NAN_OF_F32) << 16;
    else if (table)
        for (int64_t j = 0; j < n; j++) x[j] = table[narrow(dtype, x[j])];
    else
        for (int64_t j = 0; j < n; j++) x[j] = read_element(dtype, narrow(dtype, x[j]));
}

static void encode_run(const struct tables *tables, enum cs_dtype dtype, int64_t n, uint32_t *x) {
    (void)tables;
    if (dtype == CS_BF16)
        for (int64_t j = 0; j < n; j++) x[j] = cs_ref_bf16_of_f32(x[j], CS_REF_BF16_NAN_OF_F32);
    else
        for (int64_t j = 0; j < n; j++) x[j] = (uint32_t)narrow(dtype, x[j]);
}

static void evaluate(const struct cs_program *program, const struct tables *tables, const struct run *run,
                     uint32_t *x) {
    uint32_t v[RUN];
    for (size_t i = 0; i < program->n_instructions; i++) {
        const struct cs_instruction *instruction = &program->instruction[i];
        if (instruction->code == CS_CODE_ROUND || instruction->code == CS_CODE_ENCODE) {
            (instruction->code == CS_CODE_ROUND ? round_run : encode_run)(tables, instruction->dtype, run->n, x);
            continue;
        }
        if (instruction->operand >= 0)
            read_run(program, tables, &program->operand[instruction->operand], run, v);
        else
            for (int64_t j = 0; j < run->n; j++) v[j] = instruction->bits;
        compute_floats(instruction->code, run->n, x, v);
    }
}

/* ---- all elements ---- */

static void unravel(int ndim, const int64_t *shape, int64_t index, int64_t *at) {
    for (int d = ndim - 1; d >= 0; d--) {
        at[d] = index % shape[d];
        index /= shape[d];
    }
}

static void map_run(const struct cs_program *program, const struct tables *tables, const struct cs_view *destination,
                    const struct run *run) {
    uint32_t x[RUN] = {0};
    int inner = program->ndim - 1;
    evaluate(program, tables, run, x);
    int64_t position = destination->offset;
    for (int d = 0; d <= inner; d++) position += run->at[d] * destination->stride[d];
    write_elements(destination, position, destination->stride[inner], run->n, x);
}

enum cs_status cs_ref_map(const struct cs_device *device, const struct cs_program *program,
                          const struct cs_view *destination) {
    (void)device;
    struct tables tables;
    make_tables(&tables, program);
    int inner = program->ndim - 1;
    int64_t columns = program->shape[inner], rows = cs_view_numel(destination) / columns;
#pragma omp parallel for schedule(static) if (rows * columns >= PARALLEL_FROM)
    for (int64_t row = 0; row < rows; row++) {
        struct run run;
        unravel(inner, program->shape, row, run.at);
        for (int64_t start = 0; start < columns; start += RUN) {
            run.at[inner] = start;
            run.n = columns - start < RUN ? columns - start : RUN;
            map_run(program, &tables, destination, &run);
        }
    }
    return CS_OK;
}

/* The box of indices behind one element of the destination. */
struct box {
    int64_t start[CS_NDIM], extent[CS_NDIM];
};

static float largest_of_run(const struct cs_program *program, const struct tables *tables, const struct run *run,
                            bool is_first, float most) {
    uint32_t x[RUN] = {0};
    evaluate(program, tables, run, x);
    for (int64_t i = 0; i < run->n; i++)
        most = is_first && i == 0 ? cs_ref_f32_of_bits(x[0]) : largest(most, cs_ref_f32_of_bits(x[i]));
    return most;
}

static float largest_of_box(const struct cs_program *program, const struct tables *tables, const struct box *box) {
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
            most = largest_of_run(program, tables, &run, row == 0 && start == 0, most);
        }
    }
    return most;
}

enum cs_status cs_ref_maximum(const struct cs_device *device, const struct cs_program *program,
                              const struct cs_operand *destination) {
    (void)device;
    const struct cs_view *view = &destination->view;
    struct tables tables;
    make_tables(&tables, program);
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
        uint64_t most = narrow_maximum(view->dtype, cs_ref_bits_of_f32(largest_of_box(program, &tables, &box)));
        cs_ref_store(view->storage->data, bits, position, most);
    }
    return CS_OK;
}
