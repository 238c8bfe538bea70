/* Conversion by value. Reads an element of one width and writes one of another; limit: instructions (some 60 for each
 * element, integers only: no rounding mode, fused operation or NaN rule of the machine takes part). */
#ifndef CS_GPU_CONVERT_CUH
#define CS_GPU_CONVERT_CUH

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

/* A 16- or 8-bit float. `infinity`: its bits; what lies above is NaN. */
HD uint32_t f32_of_narrow(enum cs_dtype dtype, uint64_t bits, int width, uint64_t infinity) {
    const float_format format = format_of(dtype);
    const uint32_t sign = static_cast<uint32_t>(bits >> (width - 1)) << 31;
    const uint64_t size = low_bits(bits, width - 1);
    if (size > infinity) return sign | 0x7FC00000 | static_cast<uint32_t>(low_bits(size, format.mantissa) << (23 - format.mantissa));
    if (size == infinity) return sign | 0x7F800000;
    return sign | static_cast<uint32_t>(pack(format_of(CS_F32), unpack(format, size)));
}

HD uint32_t f32_of(enum cs_dtype dtype, uint64_t bits) {
    switch (dtype) {
    case CS_BF16: return static_cast<uint32_t>(bits) << 16;
    case CS_F16: return f32_of_narrow(dtype, bits, 16, 0x7C00);
    case CS_E5M2: return f32_of_narrow(dtype, bits, 8, 0x7C);
    case CS_E4M3:
        if ((bits & 0x7F) == 0x7F) return static_cast<uint32_t>(bits >> 7) << 31 | 0x7FF00000;
        return f32_of_narrow(dtype, bits, 8, 0x80);
    case CS_E8M0:
        if (bits == 0xFF) return 0x7F800001;
        return static_cast<uint32_t>(pack(format_of(CS_F32), magnitude{1, static_cast<int>(bits) - 127}));
    case CS_F64: return f32_of_f64(bits);
    default: return static_cast<uint32_t>(bits);
    }
}

/* The exponent, raised when the fraction is above a half, or at a half of a normal number. */
HD uint64_t e8m0_of_f32(uint32_t bits) {
    const uint32_t exponent = bits >> 23 & 0xFF, fraction = bits & 0x7FFFFF;
    if (exponent == 0xFF) return 0xFF;
    return exponent + (fraction + (exponent > 0) > 0x400000);
}

HD uint64_t nan_of(enum cs_dtype to, enum cs_dtype from, uint32_t bits) {
    const uint64_t sign = bits >> 31;
    switch (to) {
    case CS_BF16: return from == CS_F32 ? 0xFFFF : 0x7FC0;
    case CS_F16: return sign << 15 | 0x7E00 | (bits >> 13 & 0x3FF);
    default: return sign << 7 | 0x7F; /* e4m3, e5m2 */
    }
}

/* Without their sign, and no NaN. Both formats have their own ways below, as most elements go through them. */
HD uint64_t bf16_of_size(uint32_t size) { return (size + 0x7FFF + (size >> 16 & 1)) >> 16; }

/* Below 2^-6, steps of 2^-9: a sum with 2^14 has just these. */
HD uint64_t e4m3_of_size(uint32_t size) {
    if (size < 0x3C800000) return bits_of_f32(f32_of_bits(size) + 16384.0f) - 0x46800000;
    if (size >= 0x43E00000) return 0x7E; /* from 448 on */
    return ((size + 0x7FFFF + (size >> 20 & 1)) >> 20) - (120 << 3);
}

HD uint64_t narrow_f32(enum cs_dtype to, enum cs_dtype from, uint32_t bits) {
    const uint64_t sign = bits >> 31;
    const uint32_t size = bits & 0x7FFFFFFF;
    if (to == CS_F32) return bits;
    if (to == CS_F64) return f64_of_f32(bits);
    if (to == CS_E8M0) return e8m0_of_f32(bits);
    if (size > 0x7F800000) return nan_of(to, from, bits);
    if (to == CS_BF16) return sign << 15 | bf16_of_size(size);
    if (to == CS_E4M3) return sign << 7 | e4m3_of_size(size);
    /* Infinity unpacks to 2^128, which is too large for both. */
    const magnitude m = unpack(format_of(CS_F32), size);
    switch (to) {
    case CS_F16: return sign << 15 | pack_below(format_of(to), m, 0x7BFF, 0x7C00);
    default: return sign << 7 | pack_below(format_of(to), m, 0x7B, 0x7C);
    }
}

/* ---- integers ---- */

HD bool is_floating(enum cs_dtype dtype) {
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

/* ---- the kernel ---- */

template <class To, class From, class I> struct convert_body {
    struct cs_gpu_convert job;

    struct loaded {
        int64_t to;
        From bits;
    };
    HD loaded load(I i) const {
        const positions p = positions_of<2>(job.walk, i);
        return loaded{p.at[0], access<From>::load(job.from, p.at[1])};
    }
    HD void store(const loaded &l) const {
        access<To>::store(job.to, l.to, static_cast<To>(convert_bits(job.to_dtype, job.from_dtype, l.bits)));
    }
};

/* f with a value of an unsigned type of this width, 8 to 64 bits. */
template <class F> enum cs_status by_size(int bits, const F &f) {
    return bits == 8 ? f(uint8_t()) : bits == 16 ? f(uint16_t()) : bits == 32 ? f(uint32_t()) : f(uint64_t());
}

enum cs_status launch_convert(const struct cs_gpu_convert *job) {
    const struct cs_gpu_walk &walk = job->walk;
    return by_size(cs_dtype_bits(job->to_dtype), [&](auto to) {
        return by_size(cs_dtype_bits(job->from_dtype), [&](auto from) {
            return by_index(walk.n, [&](auto index) {
                typedef convert_body<decltype(to), decltype(from), decltype(index)> body;
                return launch_each<body, decltype(index)>("convert", walk.n * walk.bits / 8, body{*job}, walk.n);
            });
        });
    });
}

} // namespace

#endif
