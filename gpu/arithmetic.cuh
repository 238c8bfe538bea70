/* The arithmetic of programs, for the interpreter (program.cuh) and for known programs (known.cuh).
 *
 * f32 arithmetic rounds once, to nearest even. NaN is where machines differ, so it is settled here, as on x86: an operand
 * that is NaN is the result, made quiet, and what has no value is the NaN with its sign bit set. */
#ifndef CS_GPU_ARITHMETIC_CUH
#define CS_GPU_ARITHMETIC_CUH

#include <math.h>

#include "gpu/numbers.cuh"

namespace {

/* ---- elements ---- */

HD constexpr int width_in_bits(enum cs_dtype dtype) {
    switch (dtype) {
#define X(id, name, safetensors, bits, floating)                                                                       \
    case CS_##id: return bits;
        CS_DTYPES(X)
#undef X
    default: return 0;
    }
}

HD uint32_t read_number(enum cs_dtype dtype, uint64_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits >> 3) << 31;
    if (dtype == CS_E2M1) return sign | f32_of_size(float_format{1, 1}, static_cast<uint32_t>(bits & 7));
    return is_floating(dtype) ? f32_of(dtype, bits) : static_cast<uint32_t>(convert_bits(CS_I32, dtype, bits));
}

HD uint64_t narrowed(enum cs_dtype dtype, uint32_t bits) {
    if (dtype == CS_E2M1) return bits >> 31 << 3 | size_below(float_format{1, 1}, bits & 0x7FFFFFFF, 7, 7);
    return is_floating(dtype) ? narrow_f32(dtype, CS_F32, bits) : bits;
}

/* To the dtype and back. Every number of e4m3 is one of f16 and keeps its bits, NaN too. */
HD uint32_t rounded_to(enum cs_dtype dtype, uint32_t bits) { return read_number(dtype, narrowed(dtype, bits)); }

/* ---- one instruction ---- */

HD bool is_nan(uint32_t bits) {
    const float number = f32_of_bits(bits);
    return number != number;
}

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

/* Only a NaN comes of a NaN: which one, is asked when there is one. */
HD uint32_t settled_nan(enum cs_code code, uint32_t x, uint32_t v) {
    const uint32_t quiet = 0x400000, first = code == CS_CODE_INTO ? v : x, second = code == CS_CODE_INTO ? x : v;
    if (is_nan(first)) return first | quiet;
    return is_nan(second) ? second | quiet : 0xFFC00000;
}

HD uint32_t power_of_two(uint32_t x) {
    if (is_nan(x)) return x;
    const float value = f32_of_bits(x);
    const int exponent = static_cast<int>(value > 1000.0f ? 1000.0f : value < -1000.0f ? -1000.0f : value);
    if (exponent >= -126) return exponent > 127 ? 0x7F800000 : static_cast<uint32_t>(exponent + 127) << 23;
    return exponent < -149 ? 0 : UINT32_C(1) << (exponent + 149);
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

/* All codes but round and arithmetic. */
HD uint32_t step(enum cs_code code, uint32_t x, uint32_t v) {
    const float a = f32_of_bits(x), b = f32_of_bits(v);
    switch (code) {
    case CS_CODE_LOAD: return v;
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
    case CS_CODE_FLOAT: return bits_of_f32(static_cast<float>(x));
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

/* ---- several elements ---- */

/* f(k) for each of n elements; unrolled, so that arrays which k counts are registers. */
template <int n, class F> HD void each_of(const F &f) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < n; k++) f(k);
}

/* v(k): the instruction's other number. */
template <enum cs_code code, int n, class V> HD void arithmetic_each(uint32_t (&x)[n], const V &v) {
    uint32_t result[n];
    bool has_nan = false;
    each_of<n>([&](int k) {
        result[k] = bits_of_f32(plain(code, f32_of_bits(x[k]), f32_of_bits(v(k))));
        has_nan |= is_nan(result[k]);
    });
    if (has_nan) each_of<n>([&](int k) { result[k] = is_nan(result[k]) ? settled_nan(code, x[k], v(k)) : result[k]; });
    each_of<n>([&](int k) { x[k] = result[k]; });
}

template <enum cs_code code, int n, class V> HD void step_each(uint32_t (&x)[n], const V &v) {
    if constexpr (code == CS_CODE_ADD || code == CS_CODE_MULTIPLY || code == CS_CODE_DIVIDE || code == CS_CODE_INTO)
        arithmetic_each<code, n>(x, v);
    else
        each_of<n>([&](int k) { x[k] = step(code, x[k], v(k)); });
}

/* ---- one result ---- */

/* Of dtypes that are rare here: not worth their instructions once for each element of a group. */
HD_CALL uint32_t read_rare_number(enum cs_dtype dtype, uint64_t bits) { return read_number(dtype, bits); }
HD_CALL uint64_t rare_narrowed(enum cs_dtype dtype, uint32_t bits) { return narrowed(dtype, bits); }

HD void store_bits(unsigned char *data, int width, int64_t at, uint64_t bits) {
    switch (width) {
    case 4: return access<nibble>::store(data, at, static_cast<uint8_t>(bits & 15));
    case 8: return access<uint8_t>::store(data, at, static_cast<uint8_t>(bits & 0xFF));
    case 16: return access<uint16_t>::store(data, at, static_cast<uint16_t>(bits & 0xFFFF));
    case 32: return access<uint32_t>::store(data, at, static_cast<uint32_t>(bits));
    default: return access<uint64_t>::store(data, at, bits);
    }
}

HD void store_result(unsigned char *to, enum cs_dtype dtype, int64_t at, uint32_t bits) {
    store_bits(to, width_in_bits(dtype), at, dtype == CS_BF16 && is_nan(bits) ? 0x7FC0 : rare_narrowed(dtype, bits));
}

} // namespace

#endif
