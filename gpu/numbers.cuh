/* Numbers as bits: every format, and conversion by value between any two. No fused operation and no NaN rule of the machine
 * takes part; sums of two floats round where a format has steps of one size. */
#ifndef CS_GPU_NUMBERS_CUH
#define CS_GPU_NUMBERS_CUH

#include "gpu/units.cuh"

namespace {

/* ---- floating formats ---- */

struct float_format {
    int mantissa, bias;
};

HD float_format format_of(enum cs_dtype dtype) {
    switch (dtype) {
    case CS_E4M3: return float_format{3, 7};
    case CS_E5M2: return float_format{2, 15};
    case CS_F16: return float_format{10, 15};
    case CS_BF16: return float_format{7, 127};
    case CS_F64: return float_format{52, 1023};
    default: return float_format{23, 127};
    }
}

/* significand * 2^exponent, without its sign. */
struct magnitude {
    uint64_t significand;
    int exponent;
};

HD uint64_t low_bits(uint64_t bits, int n) { return n >= 64 ? bits : bits & ((UINT64_C(1) << n) - 1); }

HD magnitude unpack(const float_format &format, uint64_t bits) {
    const uint64_t fraction = low_bits(bits, format.mantissa);
    const int field = static_cast<int>(bits >> format.mantissa), lowest = 1 - format.bias - format.mantissa;
    if (field == 0) return magnitude{fraction, lowest};
    return magnitude{fraction | UINT64_C(1) << format.mantissa, lowest + field - 1};
}

/* Divided by 2^shift, to nearest even. */
HD uint64_t rounded(uint64_t x, int shift) {
    if (shift <= 0) return x << -shift;
    if (shift > 63) return 0; /* less than half, as no significand here fills 64 bits when shifted so far */
    const uint64_t kept = x >> shift, rest = low_bits(x, shift), half = UINT64_C(1) << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

/* Bits of the nearest number; one too large gets an exponent field too large, which the caller sees as large bits. */
HD uint64_t pack(const float_format &format, const magnitude &m) {
    if (m.significand == 0) return 0;
    const int top = m.exponent + highest_bit(m.significand), lowest = 1 - format.bias;
    const int last = (top > lowest ? top : lowest) - format.mantissa;
    const uint64_t units = rounded(m.significand, last - m.exponent);
    if (top < lowest) return units;
    return (static_cast<uint64_t>(top - lowest) << format.mantissa) + units; /* the leading bit adds one to the field */
}

HD uint64_t pack_below(const float_format &format, const magnitude &m, uint64_t largest, uint64_t beyond) {
    const uint64_t bits = pack(format, m);
    return bits > largest ? beyond : bits;
}

/* ---- everything floating passes through f32 ---- */

HD uint32_t f32_of_f64(uint64_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits >> 63) << 31;
    const uint64_t size = low_bits(bits, 63), infinity = UINT64_C(0x7FF) << 52;
    if (size > infinity) return sign | 0x7FC00000 | static_cast<uint32_t>(low_bits(size, 52) >> 29);
    if (size == infinity) return sign | 0x7F800000;
    return sign | static_cast<uint32_t>(pack_below(format_of(CS_F32), unpack(format_of(CS_F64), size), 0x7F7FFFFF, 0x7F800000));
}

HD uint64_t f64_of_f32(uint32_t bits) {
    const uint64_t sign = static_cast<uint64_t>(bits >> 31) << 63;
    const uint32_t size = bits & 0x7FFFFFFF;
    if (size > 0x7F800000) return sign | UINT64_C(0x7FF8) << 48 | static_cast<uint64_t>(size & 0x7FFFFF) << 29;
    if (size == 0x7F800000) return sign | UINT64_C(0x7FF) << 52;
    return sign | pack(format_of(CS_F64), unpack(format_of(CS_F32), size));
}

/* A finite number of a format of 16 bits or less, without its sign. Below 2^(1 - bias) steps are of one size: 1.m less 1. */
HD uint32_t f32_of_size(const float_format &format, uint32_t size) {
    const uint32_t bits = size << (23 - format.mantissa), one = static_cast<uint32_t>(127 - format.bias) << 23, next = one + (1 << 23);
    return size >> format.mantissa ? bits + one : bits_of_f32(f32_of_bits(bits + next) - f32_of_bits(next));
}

/* The nearest number of such a format, without a sign; one too large gets an exponent field too large, as does NaN. Below
 * 2^(1 - bias), a sum with the power of two whose last bit is one step has just these. */
HD uint32_t size_of_f32(const float_format &format, uint32_t size) {
    const int shift = 23 - format.mantissa;
    const uint32_t lowest = static_cast<uint32_t>(128 - format.bias) << 23;
    const uint32_t steps = static_cast<uint32_t>(151 - format.bias - format.mantissa) << 23;
    if (size < lowest) return bits_of_f32(f32_of_bits(size) + f32_of_bits(steps)) - steps;
    const uint32_t half = (UINT32_C(1) << (shift - 1)) - 1 + (size >> shift & 1);
    return ((size + half) >> shift) - (static_cast<uint32_t>(127 - format.bias) << format.mantissa);
}

HD uint32_t size_below(const float_format &format, uint32_t size, uint32_t largest, uint32_t beyond) {
    const uint32_t bits = size_of_f32(format, size);
    return bits > largest ? beyond : bits;
}

/* A 16- or 8-bit float. `infinity`: its bits; what lies above is NaN. */
HD uint32_t f32_of_narrow(enum cs_dtype dtype, uint32_t bits, int width, uint32_t infinity) {
    const float_format format = format_of(dtype);
    const uint32_t sign = bits >> (width - 1) << 31, size = bits & ((UINT32_C(1) << (width - 1)) - 1);
    const uint32_t fraction = size & ((UINT32_C(1) << format.mantissa) - 1);
    if (size > infinity) return sign | 0x7FC00000 | fraction << (23 - format.mantissa);
    return sign | (size == infinity ? 0x7F800000 : f32_of_size(format, size));
}

HD uint32_t f32_of_e8m0(uint32_t bits) {
    if (bits == 0xFF) return 0x7F800001;
    return bits == 0 ? 0x00400000 : bits << 23;
}

HD uint32_t f32_of(enum cs_dtype dtype, uint64_t wide) {
    const uint32_t bits = static_cast<uint32_t>(wide);
    switch (dtype) {
    case CS_BF16: return bits << 16;
    case CS_F16: return f32_of_narrow(dtype, bits, 16, 0x7C00);
    case CS_E5M2: return f32_of_narrow(dtype, bits, 8, 0x7C);
    case CS_E4M3: return (bits & 0x7F) == 0x7F ? bits >> 7 << 31 | 0x7FF00000 : f32_of_narrow(dtype, bits, 8, 0x80);
    case CS_E8M0: return f32_of_e8m0(bits);
    case CS_F64: return f32_of_f64(wide);
    default: return bits;
    }
}

/* The exponent, raised when the fraction is above a half, or at a half of a normal number. */
HD uint64_t e8m0_of_f32(uint32_t bits) {
    const uint32_t exponent = bits >> 23 & 0xFF, fraction = bits & 0x7FFFFF;
    if (exponent == 0xFF) return 0xFF;
    return exponent + (fraction + (exponent > 0) > 0x400000);
}

HD uint32_t nan_of(enum cs_dtype to, enum cs_dtype from, uint32_t bits) {
    const uint32_t sign = bits >> 31;
    switch (to) {
    case CS_BF16: return from == CS_F32 ? 0xFFFF : 0x7FC0;
    case CS_F16: return sign << 15 | 0x7E00 | (bits >> 13 & 0x3FF);
    default: return sign << 7 | 0x7F; /* e4m3, e5m2 */
    }
}

/* Without its sign, and no NaN. */
HD uint32_t bf16_of_size(uint32_t size) { return (size + 0x7FFF + (size >> 16 & 1)) >> 16; }

HD uint64_t narrow_f32(enum cs_dtype to, enum cs_dtype from, uint32_t bits) {
    const uint32_t sign = bits >> 31, size = bits & 0x7FFFFFFF;
    switch (to) {
    case CS_F32: return bits;
    case CS_F64: return f64_of_f32(bits);
    case CS_E8M0: return e8m0_of_f32(bits);
    default: break;
    }
    if (size > 0x7F800000) return nan_of(to, from, bits);
    switch (to) {
    case CS_BF16: return sign << 15 | bf16_of_size(size);
    case CS_E4M3: return sign << 7 | size_below(format_of(to), size, 0x7E, 0x7E);
    case CS_F16: return sign << 15 | size_below(format_of(to), size, 0x7BFF, 0x7C00);
    default: return sign << 7 | size_below(format_of(to), size, 0x7B, 0x7C);
    }
}

/* ---- integers ---- */

HD constexpr bool is_floating(enum cs_dtype dtype) {
    return dtype == CS_E4M3 || dtype == CS_E5M2 || dtype == CS_E8M0 || dtype == CS_BF16 || dtype == CS_F16 || dtype == CS_F32 || dtype == CS_F64;
}

/* Truncated to 64 bits; what does not fit, NaN included, is the most negative number. */
HD uint64_t integer_of_f64(enum cs_dtype to, uint64_t bits) {
    const uint64_t size = low_bits(bits, 63), none = UINT64_C(1) << 63;
    if (to == CS_BOOL) return size != 0;
    if (size >= UINT64_C(0x7FF) << 52) return none;
    const bool is_negative = bits >> 63;
    const magnitude m = unpack(format_of(CS_F64), size);
    if (m.significand == 0) return 0;
    const int top = m.exponent + highest_bit(m.significand);
    if (top > 62 && (top > 63 || is_negative || to != CS_U64)) return none;
    const uint64_t whole = m.exponent >= 0 ? m.significand << m.exponent : m.exponent < -63 ? 0 : m.significand >> -m.exponent;
    return is_negative ? ~whole + 1 : whole;
}

HD int64_t sign_extended(enum cs_dtype dtype, uint64_t bits) {
    switch (dtype) {
    case CS_I8: return static_cast<int8_t>(bits);
    case CS_I16: return static_cast<int16_t>(bits);
    case CS_I32: return static_cast<int32_t>(bits);
    case CS_BOOL: return bits != 0;
    default: return static_cast<int64_t>(bits);
    }
}

HD uint64_t convert_integer(enum cs_dtype to, enum cs_dtype from, uint64_t bits) {
    const int64_t value = sign_extended(from, bits);
    if (to == CS_BOOL) return value != 0;
    if (!is_floating(to)) return static_cast<uint64_t>(value);
    const bool is_negative = value < 0 && from != CS_U64;
    const magnitude m = {is_negative ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value), 0};
    const uint64_t sign = is_negative;
    if (to == CS_F64) return sign << 63 | pack(format_of(to), m);
    return narrow_f32(to, from, static_cast<uint32_t>(sign << 31 | pack(format_of(CS_F32), m)));
}

HD uint64_t convert_bits(enum cs_dtype to, enum cs_dtype from, uint64_t bits) {
    if (!is_floating(from)) return convert_integer(to, from, bits);
    if (!is_floating(to)) return integer_of_f64(to, from == CS_F64 ? bits : f64_of_f32(f32_of(from, bits)));
    return narrow_f32(to, from, f32_of(from, bits));
}

} // namespace

#endif
