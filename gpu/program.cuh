/* Programs: element-wise arithmetic, and the maximum over boxes. Reads each operand once where it is not a block's, writes
 * the result; limit: instructions, some 10 for each of the program's on each element, until memory is the limit.
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

HD uint32_t arithmetic(enum cs_code code, uint32_t x, uint32_t v) {
    const uint32_t quiet = 0x400000, first = code == CS_CODE_INTO ? v : x, second = code == CS_CODE_INTO ? x : v;
    if (is_nan(first)) return first | quiet;
    if (is_nan(second)) return second | quiet;
    const uint32_t result = bits_of_f32(plain(code, f32_of_bits(x), f32_of_bits(v)));
    return is_nan(result) ? 0xFFC00000 : result;
}

HD uint32_t power_of_two(uint32_t x) {
    if (is_nan(x)) return x;
    const float value = f32_of_bits(x);
    const int exponent = static_cast<int>(value > 1000.0f ? 1000.0f : value < -1000.0f ? -1000.0f : value);
    return static_cast<uint32_t>(pack_below(format_of(CS_F32), magnitude{1, exponent}, 0x7F7FFFFF, 0x7F800000));
}

HD uint32_t logarithm(uint32_t x) {
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

HD uint32_t step(const struct cs_instruction &instruction, uint32_t x, uint32_t v) {
    const float a = f32_of_bits(x), b = f32_of_bits(v);
    switch (instruction.code) {
    case CS_CODE_LOAD: return v;
    case CS_CODE_ADD:
    case CS_CODE_MULTIPLY:
    case CS_CODE_DIVIDE:
    case CS_CODE_INTO: return arithmetic(instruction.code, x, v);
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
    case CS_CODE_NEAREST: return whole(instruction.code, x);
    case CS_CODE_ROUND: return read_number(instruction.dtype, narrowed(instruction.dtype, x));
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

/* ---- a program at an index ---- */

struct index {
    int64_t at[CS_NDIM];
};

template <class I> HD index index_of(const struct cs_gpu_divisor *extent, I i) {
    index at;
    for (int d = CS_NDIM - 1; d > 0; d--) at.at[d] = next_digit(i, extent[d]);
    at.at[0] = static_cast<int64_t>(i);
    return at;
}

HD int64_t position_of(const struct cs_gpu_place &place, const index &i) {
    int64_t at = place.start;
    for (int d = 0; d < CS_NDIM; d++) {
        const int64_t block = place.has_blocks ? static_cast<int64_t>(quotient(static_cast<uint64_t>(i.at[d]), place.block[d])) : i.at[d];
        at += block * place.stride[d];
    }
    return at;
}

HD uint32_t evaluate(const struct cs_gpu_program &program, const index &at) {
    uint32_t x = 0;
    for (int i = 0; i < program.n_instructions; i++) {
        const struct cs_instruction &instruction = program.instruction[i];
        uint32_t v = instruction.bits;
        if (instruction.operand >= 0) {
            const struct cs_gpu_place &place = program.operand[instruction.operand];
            v = read_number(place.dtype, load_bits(place, position_of(place, at)));
        }
        x = step(instruction, x, v);
    }
    return x;
}

template <class I> struct map_body {
    struct cs_gpu_map job;

    HD I load(I i) const { return i; }
    HD void store(I i) const {
        const index at = index_of(job.extent, i);
        store_bits(job.to, position_of(job.to, at), narrowed(job.to.dtype, evaluate(job.program, at)));
    }
};

enum cs_status launch_map(const struct cs_gpu_map *job) {
    return by_index(job->n, [&](auto i) {
        typedef map_body<decltype(i)> body;
        return launch_each<body, decltype(i)>("arithmetic", job->n * job->to.bits / 8, body{*job}, job->n);
    });
}

/* ---- maximum ---- */

/* The largest of some elements of a box, and which it is: order decides between NaNs (the first) and between zeros (the last). */
struct largest {
    uint32_t bits;
    bool exists;
    int64_t at;
};

HD largest larger(const largest &a, const largest &b) {
    if (!a.exists || !b.exists) return a.exists ? a : b;
    const bool is_first = a.at < b.at;
    return stays_largest((is_first ? a : b).bits, (is_first ? b : a).bits) == is_first ? a : b;
}

template <class I> struct maximum_kernel {
    struct cs_gpu_maximum job;
    static constexpr int halvings = 8, n_resident = 1;
    struct state {};

    HD largest of_lane(I element, uint32_t lane) const {
        largest most = {0, false, 0};
        const index corner = index_of(job.extent, element);
        for (I j = lane; j < static_cast<I>(job.n_box); j += job.lanes) {
            index at = index_of(job.box, j);
            bool is_inside = true;
            for (int d = 0; d < CS_NDIM; d++) {
                at.at[d] += corner.at[d] * job.block[d];
                is_inside = is_inside && at.at[d] < job.shape[d];
            }
            if (is_inside) most = larger(most, largest{evaluate(job.program, at), true, static_cast<int64_t>(j)});
        }
        return most;
    }

    HD void finish(I element, uint32_t bits) const {
        const uint64_t narrow = job.to.dtype == CS_BF16 && is_nan(bits) ? 0x7FC0 : narrowed(job.to.dtype, bits);
        store_bits(job.to, position_of(job.to, index_of(job.extent, element)), narrow);
    }

    HD int n_phases(const place &) const { return 1 + halvings + 1; }
    HD void run(int phase, const place &at, unsigned char *shared, state &) const {
        largest *mosts = reinterpret_cast<largest *>(shared);
        const uint32_t lane = at.thread % job.lanes, other = phase > 0 && phase <= halvings ? job.lanes >> phase : 0;
        const int64_t element = at.block * (THREADS / job.lanes) + at.thread / job.lanes;
        if (element >= job.n) return;
        if (phase == 0)
            mosts[at.thread] = of_lane(static_cast<I>(element), lane);
        else if (lane < other)
            mosts[at.thread] = larger(mosts[at.thread], mosts[at.thread + other]);
        else if (phase > halvings && lane == 0)
            finish(static_cast<I>(element), mosts[at.thread].bits);
    }
};

enum cs_status launch_maximum(const struct cs_gpu_maximum *job) {
    return by_index(job->n > job->n_box ? job->n : job->n_box, [&](auto i) {
        const int64_t in_block = THREADS / job->lanes, n_blocks = job->n / in_block + (job->n % in_block != 0);
        return launch("maximum", job->n * job->to.bits / 8, maximum_kernel<decltype(i)>{*job}, n_blocks, THREADS * sizeof(largest));
    });
}

} // namespace

#endif
