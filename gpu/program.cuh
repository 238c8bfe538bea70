/* Programs: element-wise arithmetic. Reads each operand once where it is not a block's, writes the result; limit:
 * instructions, some 10 for each of the program's on each element, until memory is the limit.
 *
 * A thread has a group of elements along the innermost dimension in registers, and each instruction runs over all of them
 * before the next one does: what an instruction is, and where operands lie, is found out once a group.
 *
 * f32 arithmetic rounds once, to nearest even. NaN is where machines differ, so it is settled here, as on x86: an operand
 * that is NaN is the result, made quiet, and what has no value is the NaN with its sign bit set. */
#ifndef CS_GPU_PROGRAM_CUH
#define CS_GPU_PROGRAM_CUH

#include <math.h>

#include "gpu/convert.cuh"

namespace {

/* ---- elements ---- */

HD uint32_t read_number(enum cs_dtype dtype, uint64_t bits) {
    const float_format e2m1 = {1, 1};
    if (dtype == CS_E2M1) return static_cast<uint32_t>(bits >> 3) << 31 | static_cast<uint32_t>(pack(format_of(CS_F32), unpack(e2m1, bits & 7)));
    return static_cast<uint32_t>(convert_bits(is_floating(dtype) ? CS_F32 : CS_I32, dtype, bits));
}

HD uint64_t narrowed(enum cs_dtype dtype, uint32_t bits) {
    const float_format e2m1 = {1, 1};
    if (dtype == CS_E2M1) return static_cast<uint64_t>(bits >> 31) << 3 | pack_below(e2m1, unpack(format_of(CS_F32), bits & 0x7FFFFFFF), 7, 7);
    return is_floating(dtype) ? convert_bits(dtype, CS_F32, bits) : bits;
}

/* Of dtypes that are rare here: not worth their instructions once for each element of a group. */
HD_CALL uint32_t read_rare_number(enum cs_dtype dtype, uint64_t bits) { return read_number(dtype, bits); }
HD_CALL uint64_t rare_narrowed(enum cs_dtype dtype, uint32_t bits) { return narrowed(dtype, bits); }

HD uint64_t load_bits(const struct cs_gpu_place &place, int64_t at) {
    switch (place.bits) {
    case 4: return access<nibble>::load(place.data, at);
    case 8: return access<uint8_t>::load(place.data, at);
    case 16: return access<uint16_t>::load(place.data, at);
    case 32: return access<uint32_t>::load(place.data, at);
    default: return access<uint64_t>::load(place.data, at);
    }
}

HD void store_bits(const struct cs_gpu_place &place, int64_t at, uint64_t bits) {
    switch (place.bits) {
    case 4: return access<nibble>::store(place.data, at, static_cast<uint8_t>(bits & 15));
    case 8: return access<uint8_t>::store(place.data, at, static_cast<uint8_t>(bits & 0xFF));
    case 16: return access<uint16_t>::store(place.data, at, static_cast<uint16_t>(bits & 0xFFFF));
    case 32: return access<uint32_t>::store(place.data, at, static_cast<uint32_t>(bits));
    default: return access<uint64_t>::store(place.data, at, bits);
    }
}

/* ---- one instruction ---- */

HD bool is_nan(uint32_t bits) { return (bits & 0x7FFFFFFF) > 0x7F800000; }

HD float plain(enum cs_code code, float x, float v) {
#ifdef __CUDA_ARCH__
    if (code == CS_CODE_ADD) return __fadd_rn(x, v);
    if (code == CS_CODE_MULTIPLY) return __fmul_rn(x, v);
    return code == CS_CODE_DIVIDE ? __fdiv_rn(x, v) : __fdiv_rn(v, x);
#else
    if (code == CS_CODE_ADD) return x + v;
    if (code == CS_CODE_MULTIPLY) return x * v;
    return code == CS_CODE_DIVIDE ? x / v : v / x;
#endif
}

HD_CALL uint32_t rare_nan(enum cs_code code, uint32_t x, uint32_t v) {
    const uint32_t quiet = 0x400000, first = code == CS_CODE_INTO ? v : x, second = code == CS_CODE_INTO ? x : v;
    if (is_nan(first)) return first | quiet;
    return is_nan(second) ? second | quiet : 0xFFC00000;
}

/* Only a NaN comes of a NaN: which one, is asked when there is one. */
HD uint32_t arithmetic(enum cs_code code, uint32_t x, uint32_t v) {
    const uint32_t result = bits_of_f32(plain(code, f32_of_bits(x), f32_of_bits(v)));
    return is_nan(result) ? rare_nan(code, x, v) : result;
}

HD_CALL uint32_t power_of_two(uint32_t x) {
    if (is_nan(x)) return x;
    const float value = f32_of_bits(x);
    const int exponent = static_cast<int>(value > 1000.0f ? 1000.0f : value < -1000.0f ? -1000.0f : value);
    return static_cast<uint32_t>(pack_below(format_of(CS_F32), magnitude{1, exponent}, 0x7F7FFFFF, 0x7F800000));
}

HD_CALL uint32_t logarithm(uint32_t x) {
    if (is_nan(x)) return x | 0x400000;
    if (x > 0x80000000) return 0xFFC00000;
    return bits_of_f32(static_cast<float>(log2(static_cast<double>(f32_of_bits(x)))));
}

HD uint32_t whole(enum cs_code code, uint32_t x) {
    if (is_nan(x)) return x | 0x400000;
    const float value = f32_of_bits(x);
    return bits_of_f32(code == CS_CODE_CEIL ? ceilf(value) : code == CS_CODE_FLOOR ? floorf(value) : rintf(value));
}

/* a, unless b is larger or comes later; the first NaN stays. */
HD bool stays_largest(uint32_t a, uint32_t b) { return is_nan(a) || f32_of_bits(a) > f32_of_bits(b); }
HD bool stays_smallest(uint32_t a, uint32_t b) { return is_nan(a) || f32_of_bits(a) < f32_of_bits(b); }

HD uint32_t number_of(uint32_t value) {
    return value == 0 ? 0 : static_cast<uint32_t>(pack(format_of(CS_F32), magnitude{value, 0}));
}

/* All codes but round. */
HD uint32_t step(enum cs_code code, uint32_t x, uint32_t v) {
    const float a = f32_of_bits(x), b = f32_of_bits(v);
    switch (code) {
    case CS_CODE_LOAD: return v;
    case CS_CODE_ADD:
    case CS_CODE_MULTIPLY:
    case CS_CODE_DIVIDE:
    case CS_CODE_INTO: return arithmetic(code, x, v);
    case CS_CODE_MAXIMUM: return stays_largest(x, v) ? x : v;
    case CS_CODE_MINIMUM: return stays_smallest(x, v) ? x : v;
    /* Of equal ones, zeros that is, the accumulator stays, as in glibc. */
    case CS_CODE_FMAX: return is_nan(v) || a >= b ? x : v;
    case CS_CODE_FMIN: return is_nan(v) || a <= b ? x : v;
    case CS_CODE_IF_ZERO: return a == 0.0f ? v : x;
    case CS_CODE_ZERO_LOW: return a < b ? 0 : x;
    case CS_CODE_ABSOLUTE: return x & 0x7FFFFFFF;
    case CS_CODE_LOG2: return logarithm(x);
    case CS_CODE_EXP2: return power_of_two(x);
    case CS_CODE_CEIL:
    case CS_CODE_FLOOR:
    case CS_CODE_NEAREST: return whole(code, x);
    case CS_CODE_FLOAT: return number_of(x);
    case CS_CODE_INTEGER: return static_cast<uint32_t>(convert_bits(CS_I32, CS_F32, x));
    case CS_CODE_XOR: return x ^ v;
    case CS_CODE_AND: return x & v;
    case CS_CODE_OR: return x | v;
    case CS_CODE_LEFT: return v < 32 ? x << v : 0;
    case CS_CODE_RIGHT: return v < 32 ? x >> v : 0;
    case CS_CODE_PLUS: return x + v;
    case CS_CODE_LEAST: return x < v ? x : v;
    case CS_CODE_MOST: return x > v ? x : v;
    default: return x == v ? 0 : x; /* drop */
    }
}

/* ---- groups ---- */

enum { GROUP = CS_GPU_GROUP, INNER = CS_NDIM - 1 };

/* f(k) for each element of a group; unrolled, so that arrays which k counts are registers. */
template <class F> HD void each_of_group(const F &f) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < GROUP; k++) f(k);
}

HD void numbers_of_group(enum cs_dtype dtype, const uint64_t (&bits)[GROUP], uint32_t (&x)[GROUP]) {
    switch (dtype) {
    case CS_F32:
    case CS_I32: return each_of_group([&](int k) { x[k] = static_cast<uint32_t>(bits[k]); });
    case CS_BF16: return each_of_group([&](int k) { x[k] = read_number(CS_BF16, bits[k]); });
    case CS_U8: return each_of_group([&](int k) { x[k] = read_number(CS_U8, bits[k]); });
    default: return each_of_group([&](int k) { x[k] = read_rare_number(dtype, bits[k]); });
    }
}

HD void narrow_group(enum cs_dtype dtype, const uint32_t (&x)[GROUP], uint64_t (&bits)[GROUP]) {
    switch (dtype) {
    case CS_F32:
    case CS_I32: return each_of_group([&](int k) { bits[k] = x[k]; });
    case CS_BF16: return each_of_group([&](int k) { bits[k] = narrowed(CS_BF16, x[k]); });
    case CS_E4M3: return each_of_group([&](int k) { bits[k] = narrowed(CS_E4M3, x[k]); });
    case CS_U8: return each_of_group([&](int k) { bits[k] = narrowed(CS_U8, x[k]); });
    default: return each_of_group([&](int k) { bits[k] = rare_narrowed(dtype, x[k]); });
    }
}

HD void round_group(enum cs_dtype dtype, uint32_t (&x)[GROUP]) {
    uint64_t bits[GROUP];
    narrow_group(dtype, x, bits);
    numbers_of_group(dtype, bits, x);
}

template <enum cs_code code> HD void step_each(uint32_t (&x)[GROUP], const uint32_t (&v)[GROUP]) {
    each_of_group([&](int k) { x[k] = step(code, x[k], v[k]); });
}

HD void step_group(enum cs_code code, uint32_t (&x)[GROUP], const uint32_t (&v)[GROUP]) {
    switch (code) {
    case CS_CODE_LOAD: return step_each<CS_CODE_LOAD>(x, v);
    case CS_CODE_ADD: return step_each<CS_CODE_ADD>(x, v);
    case CS_CODE_MULTIPLY: return step_each<CS_CODE_MULTIPLY>(x, v);
    case CS_CODE_DIVIDE: return step_each<CS_CODE_DIVIDE>(x, v);
    case CS_CODE_INTO: return step_each<CS_CODE_INTO>(x, v);
    case CS_CODE_MAXIMUM: return step_each<CS_CODE_MAXIMUM>(x, v);
    case CS_CODE_MINIMUM: return step_each<CS_CODE_MINIMUM>(x, v);
    case CS_CODE_FMAX: return step_each<CS_CODE_FMAX>(x, v);
    case CS_CODE_FMIN: return step_each<CS_CODE_FMIN>(x, v);
    case CS_CODE_IF_ZERO: return step_each<CS_CODE_IF_ZERO>(x, v);
    case CS_CODE_ZERO_LOW: return step_each<CS_CODE_ZERO_LOW>(x, v);
    case CS_CODE_ABSOLUTE: return step_each<CS_CODE_ABSOLUTE>(x, v);
    case CS_CODE_LOG2: return step_each<CS_CODE_LOG2>(x, v);
    case CS_CODE_EXP2: return step_each<CS_CODE_EXP2>(x, v);
    case CS_CODE_CEIL: return step_each<CS_CODE_CEIL>(x, v);
    case CS_CODE_FLOOR: return step_each<CS_CODE_FLOOR>(x, v);
    case CS_CODE_NEAREST: return step_each<CS_CODE_NEAREST>(x, v);
    case CS_CODE_FLOAT: return step_each<CS_CODE_FLOAT>(x, v);
    case CS_CODE_INTEGER: return step_each<CS_CODE_INTEGER>(x, v);
    case CS_CODE_XOR: return step_each<CS_CODE_XOR>(x, v);
    case CS_CODE_AND: return step_each<CS_CODE_AND>(x, v);
    case CS_CODE_OR: return step_each<CS_CODE_OR>(x, v);
    case CS_CODE_LEFT: return step_each<CS_CODE_LEFT>(x, v);
    case CS_CODE_RIGHT: return step_each<CS_CODE_RIGHT>(x, v);
    case CS_CODE_PLUS: return step_each<CS_CODE_PLUS>(x, v);
    case CS_CODE_LEAST: return step_each<CS_CODE_LEAST>(x, v);
    case CS_CODE_MOST: return step_each<CS_CODE_MOST>(x, v);
    default: return step_each<CS_CODE_DROP>(x, v);
    }
}

/* ---- groups in memory ---- */

/* Dimensions before `first` have one element. */
template <class I> struct index {
    I at[CS_NDIM];
};

/* f(d) for each dimension that counts, innermost first; unrolled, so that indices are registers. */
template <class F> HD void each_dimension(int first, const F &f) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int d = INNER; d >= 0; d--)
        if (d >= first) f(d);
}

template <class I> HD index<I> index_of(const struct cs_gpu_divisor *extent, int first, I i) {
    index<I> at = {};
    each_dimension(first, [&](int d) {
        if (d > first)
            at.at[d] = static_cast<I>(next_digit(i, extent[d]));
        else
            at.at[d] = i;
    });
    return at;
}

/* Index of group i: `extent` counts elements in all dimensions but the innermost, and groups there. */
template <class I> HD index<I> group_of(const struct cs_gpu_divisor *extent, int first, I i) {
    index<I> at = index_of(extent, first, i);
    at.at[INNER] *= GROUP;
    return at;
}

template <class I> HD int64_t block_of(const struct cs_gpu_place &place, int d, I i) {
    return static_cast<int64_t>(place.has_blocks ? quotient(i, place.block[d]) : i);
}

template <class I> HD int64_t position_of(const struct cs_gpu_place &place, const index<I> &i) {
    int64_t at = place.start;
    each_dimension(place.first, [&](int d) { at += block_of(place, d, i.at[d]) * place.stride[d]; });
    return at;
}

/* Whether a whole group lies densely from `at` on, where accesses of its width may begin: a group has as many bytes as
 * an element has bits. */
HD bool is_dense(const struct cs_gpu_place &place, int64_t at) {
    const int width = place.bits < 16 ? place.bits : 16;
    if (place.bits > 32 || place.stride[INNER] != 1 || (place.has_blocks && place.block[INNER].extent != 1)) return false;
    const uintptr_t byte = reinterpret_cast<uintptr_t>(place.data) + static_cast<uintptr_t>(at * place.bits / 8);
    return at * place.bits % 8 == 0 && byte % static_cast<uintptr_t>(width) == 0;
}

HD void load_dense(const struct cs_gpu_place &place, int64_t at, uint64_t (&bits)[GROUP]) {
    const unsigned char *from = place.data + at * place.bits / 8;
    uint64_t word[4] = {0, 0, 0, 0};
    if (place.bits == 4) {
        word[0] = access<uint32_t>::load(from, 0);
        return each_of_group([&](int k) { bits[k] = word[0] >> (4 * k) & 0xF; });
    }
    if (place.bits == 8) {
        word[0] = access<uint64_t>::load(from, 0);
        return each_of_group([&](int k) { bits[k] = word[0] >> (8 * k) & 0xFF; });
    }
    const u128 low = access<u128>::load(from, 0);
    word[0] = low.word[0], word[1] = low.word[1];
    if (place.bits == 16) return each_of_group([&](int k) { bits[k] = word[k / 4] >> (16 * (k % 4)) & 0xFFFF; });
    const u128 high = access<u128>::load(from, 1);
    word[2] = high.word[0], word[3] = high.word[1];
    each_of_group([&](int k) { bits[k] = word[k / 2] >> (32 * (k % 2)) & 0xFFFFFFFF; });
}

HD void store_dense(const struct cs_gpu_place &place, int64_t at, const uint64_t (&bits)[GROUP]) {
    unsigned char *to = place.data + at * place.bits / 8;
    uint64_t word[4] = {0, 0, 0, 0};
    if (place.bits == 4) {
        each_of_group([&](int k) { word[0] |= (bits[k] & 0xF) << (4 * k); });
        return access<uint32_t>::store(to, 0, static_cast<uint32_t>(word[0]));
    }
    if (place.bits == 8) {
        each_of_group([&](int k) { word[0] |= (bits[k] & 0xFF) << (8 * k); });
        return access<uint64_t>::store(to, 0, word[0]);
    }
    if (place.bits == 16) {
        each_of_group([&](int k) { word[k / 4] |= (bits[k] & 0xFFFF) << (16 * (k % 4)); });
        return access<u128>::store(to, 0, u128{{word[0], word[1]}});
    }
    each_of_group([&](int k) { word[k / 2] |= (bits[k] & 0xFFFFFFFF) << (32 * (k % 2)); });
    access<u128>::store(to, 0, u128{{word[0], word[1]}});
    access<u128>::store(to, 1, u128{{word[2], word[3]}});
}

/* The first n elements of the group at an index; the others are some of them. */
template <class I> HD void read_group(const struct cs_gpu_place &place, const index<I> &at, int n, uint32_t (&x)[GROUP]) {
    uint64_t bits[GROUP];
    const int64_t first = position_of(place, at), stride = place.stride[INNER], block = block_of(place, INNER, at.at[INNER]);
    if (n == 1 || block_of(place, INNER, static_cast<I>(at.at[INNER] + static_cast<I>(n) - 1)) == block || stride == 0) {
        const uint32_t number = read_rare_number(place.dtype, load_bits(place, first));
        return each_of_group([&](int k) { x[k] = number; });
    }
    if (n == GROUP && is_dense(place, first))
        load_dense(place, first, bits);
    else
        each_of_group([&](int k) {
            const I inner = at.at[INNER] + static_cast<I>(k < n ? k : n - 1);
            bits[k] = load_bits(place, first + (block_of(place, INNER, inner) - block) * stride);
        });
    numbers_of_group(place.dtype, bits, x);
}

template <class I> HD void write_group(const struct cs_gpu_place &place, const index<I> &at, int n, const uint32_t (&x)[GROUP]) {
    uint64_t bits[GROUP];
    const int64_t first = position_of(place, at);
    narrow_group(place.dtype, x, bits);
    if (n == GROUP && is_dense(place, first)) return store_dense(place, first, bits);
    each_of_group([&](int k) {
        if (k < n) store_bits(place, first + k * place.stride[INNER], bits[k]);
    });
}

template <class I> HD void evaluate(const struct cs_gpu_program &program, const index<I> &at, int n, uint32_t (&x)[GROUP]) {
    each_of_group([&](int k) { x[k] = 0; });
    for (int i = 0; i < program.n_instructions; i++) {
        const struct cs_instruction &instruction = program.instruction[i];
        uint32_t v[GROUP];
        if (instruction.code == CS_CODE_ROUND) {
            round_group(instruction.dtype, x);
            continue;
        }
        if (instruction.operand >= 0)
            read_group(program.operand[instruction.operand], at, n, v);
        else
            each_of_group([&](int k) { v[k] = instruction.bits; });
        step_group(instruction.code, x, v);
    }
}

HD int at_most_a_group(int64_t n) { return n < GROUP ? static_cast<int>(n) : static_cast<int>(GROUP); }

/* ---- all elements ---- */

template <class I> struct map_kernel {
    struct cs_gpu_map job;
    static constexpr int n_resident = 4; /* at 64 registers each */
    struct state {};

    HD int n_phases(const place &) const { return 1; }
    HD void run(int, const place &at, unsigned char *, state &) const {
        const int64_t step = THREADS * at.n_blocks;
        for (int64_t i = at.block * THREADS + at.thread; i < job.n_groups; i += step) {
            uint32_t x[GROUP];
            const index<I> first = group_of(job.groups, job.to.first, static_cast<I>(i));
            const int n = at_most_a_group(job.columns - static_cast<int64_t>(first.at[INNER]));
            evaluate(job.program, first, n, x);
            write_group(job.to, first, n, x);
        }
    }
};

enum cs_status launch_map(const struct cs_gpu_map *job) {
    return by_index(job->n_groups * GROUP, [&](auto i) {
        const int64_t n_blocks = job->n_groups / THREADS + (job->n_groups % THREADS != 0);
        return launch("arithmetic", job->n_groups * job->to.bits, map_kernel<decltype(i)>{*job}, grid_of(n_blocks), 0);
    });
}

} // namespace

#endif
