/* Conversion by value, as torch 2.14's copy_ does it on a CPU. All floating dtypes but f64 meet in f32, as there; what
 * a NaN becomes is part of the contract (golden casts of e4m3, e8m0 and f32). */
#include "ref/narrow.h"
#include "ref/ref.h"
#include "ref/walk.h"
#include "ref/wide.h"

#include <math.h>

enum { E5M2_NAN = 0x7F, E8M0_NAN = 0xFF };

/* ---- floating dtypes up to 32 bits → bits of an f32, always exact ---- */

static uint32_t f32_of_f16(uint64_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, mantissa = (uint32_t)(bits & 0x3FF) << 13;
    if ((bits & 0x7C00) != 0x7C00) return cs_ref_bits_of_f32((float)cs_dtype_decode(CS_F16, bits));
    return sign | 0x7F800000 | (mantissa ? mantissa | 0x400000 : 0); /* NaNs keep their payload and turn quiet */
}

static uint32_t f32_of(enum cs_dtype dtype, uint64_t bits) {
    switch (dtype) {
    case CS_F32:
        return (uint32_t)bits;
    case CS_BF16:
        return (uint32_t)bits << 16;
    case CS_F16:
        return f32_of_f16(bits);
    case CS_E5M2:
        return f32_of_f16(bits << 8); /* e5m2 is the upper half of an f16 */
    case CS_E4M3:
        if ((bits & 0x7F) == CS_REF_E4M3_NAN) return (uint32_t)(bits & 0x80) << 24 | 0x7FF00000;
        break;
    case CS_E8M0:
        if (bits == E8M0_NAN) return 0x7F800001;
        break;
    default:
        break;
    }
    return cs_ref_bits_of_f32((float)cs_dtype_decode(dtype, bits));
}

/* ---- bits of an f32 → floating dtypes up to 32 bits ---- */

/* The exponent, rounded to nearest by the mantissa, ties upward except below 2^-126; the sign is lost. */
static uint64_t e8m0_of_f32(uint32_t bits) {
    uint32_t exponent = bits >> 23 & 0xFF, mantissa = bits & 0x7FFFFF, half = 0x400000;
    if (exponent == E8M0_NAN) return E8M0_NAN;
    return exponent + (mantissa > half || (mantissa == half && exponent > 0));
}

static uint64_t nan_of_f32(enum cs_dtype dtype, uint32_t bits) {
    uint32_t negative = bits >> 31;
    if (dtype == CS_F16) return negative << 15 | 0x7E00 | (bits >> 13 & 0x3FF);
    return negative << 7 | E5M2_NAN;
}

static uint64_t narrow_f32(enum cs_dtype to, enum cs_dtype from, uint32_t bits) {
    uint64_t narrow = 0;
    if (to == CS_F32) return bits;
    if (to == CS_BF16) return cs_ref_bf16_of_f32(bits, from == CS_F32 ? CS_REF_BF16_NAN_OF_F32 : CS_REF_BF16_NAN);
    if (to == CS_E4M3) return cs_ref_e4m3_of_f32(bits);
    if (to == CS_E8M0) return e8m0_of_f32(bits);
    if (cs_ref_is_nan(bits)) return nan_of_f32(to, bits);
    cs_dtype_encode(to, (double)cs_ref_f32_of_bits(bits), &narrow); /* cannot fail: a number, and a floating dtype */
    return narrow;
}

/* ---- f64 and integers ---- */

static double f64_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static uint64_t bits_of_f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static int64_t sign_extended(enum cs_dtype dtype, uint64_t bits) {
    switch (dtype) {
    case CS_I8:
        return (int8_t)bits;
    case CS_I16:
        return (int16_t)bits;
    case CS_I32:
        return (int32_t)bits;
    case CS_BOOL:
        return bits != 0;
    default:
        return (int64_t)bits;
    }
}

/* Truncated to 64 bits; the store keeps the low ones: 300.0 → u8 44. Beyond, x86's "integer indefinite". */
static uint64_t integer_of(enum cs_dtype to, double value) {
    if (to == CS_BOOL) return value != 0;
    if (value > -0x1p63 && value < 0x1p63) return (uint64_t)(int64_t)value;
    return to == CS_U64 && value >= 0x1p63 && value < 0x1p64 ? (uint64_t)value : UINT64_C(1) << 63;
}

static uint64_t convert_integer(enum cs_dtype to, enum cs_dtype from, uint64_t bits) {
    int64_t value = sign_extended(from, bits);
    bool is_huge = from == CS_U64 && value < 0;
    if (to == CS_BOOL) return value != 0;
    if (!cs_dtype_is_floating(to)) return (uint64_t)value;
    if (to == CS_F64) return bits_of_f64(is_huge ? (double)bits : (double)value);
    return narrow_f32(to, from, cs_ref_bits_of_f32(is_huge ? (float)bits : (float)value));
}

uint64_t cs_ref_convert_bits(enum cs_dtype to, enum cs_dtype from, uint64_t bits) {
    if (!cs_dtype_is_floating(from)) return convert_integer(to, from, bits);
    if (from == CS_F64) {
        double value = f64_of_bits(bits);
        return cs_dtype_is_floating(to) ? narrow_f32(to, from, cs_ref_bits_of_f32((float)value))
                                        : integer_of(to, value);
    }
    uint32_t single = f32_of(from, bits);
    if (to == CS_F64) return bits_of_f64((double)cs_ref_f32_of_bits(single));
    return cs_dtype_is_floating(to) ? narrow_f32(to, from, single) : integer_of(to, (double)cs_ref_f32_of_bits(single));
}

/* ---- runs ---- */

struct job {
    unsigned char *destination;
    const unsigned char *source;
    enum cs_dtype to, from;
    bool has_table; /* of all values of an 8-bit source */
    uint64_t table[256];
};

typedef uint16_t half_word __attribute__((aligned(1), may_alias));
typedef uint32_t full_word __attribute__((aligned(1), may_alias));

CS_REF_LOOP widen_dense_loop(full_word *to, const half_word *from, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] = (uint32_t)from[i] << 16;
}
CS_REF_WIDE(widen_dense, (full_word * to, const half_word *from, int64_t n), (to, from, n))

CS_REF_LOOP narrow_dense_loop(half_word *to, const full_word *from, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] = (uint16_t)cs_ref_bf16_of_f32(from[i], CS_REF_BF16_NAN_OF_F32);
}
CS_REF_WIDE(narrow_dense, (half_word * to, const full_word *from, int64_t n), (to, from, n))

static void widen_bf16(const struct cs_ref_run *run, const struct job *job) {
    int64_t to = run->position[0], from = run->position[1];
    for (int64_t i = 0; i < run->n; i++, to += run->stride[0], from += run->stride[1])
        cs_ref_store(job->destination, 32, to, cs_ref_load(job->source, 16, from) << 16);
}

static void narrow_to_bf16(const struct cs_ref_run *run, const struct job *job) {
    int64_t to = run->position[0], from = run->position[1];
    for (int64_t i = 0; i < run->n; i++, to += run->stride[0], from += run->stride[1]) {
        uint32_t bits = (uint32_t)cs_ref_load(job->source, 32, from);
        cs_ref_store(job->destination, 16, to, cs_ref_bf16_of_f32(bits, CS_REF_BF16_NAN_OF_F32));
    }
}

static inline __attribute__((always_inline)) void look_up(const struct cs_ref_run *run, const struct job *job,
                                                          int bits) {
    int64_t to = run->position[0], from = run->position[1];
    for (int64_t i = 0; i < run->n; i++, to += run->stride[0], from += run->stride[1])
        cs_ref_store(job->destination, bits, to, job->table[job->source[from]]);
}

static void convert_elements(const struct cs_ref_run *run, const struct job *job) {
    int to_bits = cs_dtype_bits(job->to), from_bits = cs_dtype_bits(job->from);
    int64_t to = run->position[0], from = run->position[1];
    for (int64_t i = 0; i < run->n; i++, to += run->stride[0], from += run->stride[1]) {
        uint64_t bits = cs_ref_load(job->source, from_bits, from);
        cs_ref_store(job->destination, to_bits, to, cs_ref_convert_bits(job->to, job->from, bits));
    }
}

static void convert_run(const struct cs_ref_run *run, const void *context, struct cs_ref_tally *tally) {
    const struct job *job = context;
    (void)tally;
    bool is_dense = cs_ref_is_dense(run, 2);
    void *to = job->destination + run->position[0] * (cs_dtype_bits(job->to) / 8);
    const void *from = job->source + run->position[1] * (cs_dtype_bits(job->from) / 8);
    if (is_dense && job->to == CS_F32 && job->from == CS_BF16)
        widen_dense(to, from, run->n);
    else if (is_dense && job->to == CS_BF16 && job->from == CS_F32)
        narrow_dense(to, from, run->n);
    else if (job->has_table)
        CS_REF_BY_WIDTH(cs_dtype_bits(job->to), look_up, run, job);
    else if (job->to == CS_F32 && job->from == CS_BF16)
        widen_bf16(run, job);
    else if (job->to == CS_BF16 && job->from == CS_F32)
        narrow_to_bf16(run, job);
    else
        convert_elements(run, job);
}

enum cs_status cs_ref_convert(const struct cs_device *device, const struct cs_view *destination,
                              const struct cs_view *source) {
    struct job job = {.destination = destination->storage->data,
                      .source = source->storage->data,
                      .to = destination->dtype,
                      .from = source->dtype};
    CS_REQUIRE(job.to != CS_E2M1 && job.from != CS_E2M1, CS_UNSUPPORTED, "%s: converting %s to %s is not supported",
               device->name, cs_dtype_name(job.from), cs_dtype_name(job.to));
    struct cs_ref_walk walk = cs_ref_walk_of(destination, source);
    job.has_table = cs_dtype_bits(job.from) == 8 && walk.numel > (int64_t)CS_COUNT(job.table);
    for (unsigned i = 0; job.has_table && i < CS_COUNT(job.table); i++)
        job.table[i] = cs_ref_convert_bits(job.to, job.from, i);
    cs_ref_walk_visit(&walk, convert_run, &job);
    return CS_OK;
}
