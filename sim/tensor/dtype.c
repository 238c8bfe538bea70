#include "sim/tensor/tensor.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *safetensors;
    int bits;
    bool is_floating;
} dtypes[CS_N_DTYPES] = {
#define X(id, name, safetensors, bits, floating) {name, safetensors, bits, floating},
    CS_DTYPES(X)
#undef X
};

static const char *const torch_names[CS_N_DTYPES] = {
    [CS_U8] = "uint8",
    [CS_I8] = "int8",
    [CS_BOOL] = "bool",
    [CS_E2M1] = "float4_e2m1fn_x2",
    [CS_E4M3] = "float8_e4m3fn",
    [CS_E5M2] = "float8_e5m2",
    [CS_E8M0] = "float8_e8m0fnu",
    [CS_I16] = "int16",
    [CS_U16] = "uint16",
    [CS_BF16] = "bfloat16",
    [CS_F16] = "float16",
    [CS_I32] = "int32",
    [CS_U32] = "uint32",
    [CS_F32] = "float32",
    [CS_I64] = "int64",
    [CS_U64] = "uint64",
    [CS_F64] = "float64",
};

const char *cs_dtype_name(enum cs_dtype dtype) { return dtypes[dtype].name; }
const char *cs_dtype_safetensors(enum cs_dtype dtype) { return dtypes[dtype].safetensors; }
const char *cs_dtype_torch(enum cs_dtype dtype) { return torch_names[dtype]; }
int cs_dtype_bits(enum cs_dtype dtype) { return dtypes[dtype].bits; }
bool cs_dtype_is_floating(enum cs_dtype dtype) { return dtypes[dtype].is_floating; }
bool cs_dtype_is_number(enum cs_dtype dtype) { return cs_dtype_is_floating(dtype) && cs_dtype_bits(dtype) >= 16; }

enum cs_status cs_dtype_parse(const char *name, enum cs_dtype *dtype) {
    const char *known[3 * CS_N_DTYPES];
    for (int i = 0; i < CS_N_DTYPES; i++) {
        known[3 * i] = dtypes[i].name;
        known[3 * i + 1] = dtypes[i].safetensors;
        known[3 * i + 2] = torch_names[i];
        for (int j = 0; j < 3; j++) {
            if (!cs_text_equal(name, known[3 * i + j])) continue;
            *dtype = (enum cs_dtype)i;
            return CS_OK;
        }
    }
    const char *nearest = cs_text_nearest(name, known, CS_COUNT(known));
    if (nearest) return cs_fail(CS_BAD_TYPE, "\"%.64s\" is not a dtype: did you mean \"%s\"?", name, nearest);
    return cs_fail(CS_BAD_TYPE, "\"%.64s\" is not a dtype: write a name such as \"bf16\", \"e4m3\" or \"u8\"", name);
}

/* ---- floating dtypes: sign, exponent, mantissa ---- */

struct float_format {
    int mantissa, bias;
    uint64_t largest; /* finite */
    uint64_t beyond;  /* what larger magnitudes and infinity become: the largest when the dtype saturates */
    uint64_t nan;     /* 0: has none */
};

/* e4m3 saturates as torch 2.14 does; e5m2 overflows to infinity as in every torch; e2m1 has no other choice. */
static const struct float_format float_formats[CS_N_DTYPES] = {
    [CS_E2M1] = {1, 1, 0x7, 0x7, 0},
    [CS_E4M3] = {3, 7, 0x7E, 0x7E, 0x7F},
    [CS_E5M2] = {2, 15, 0x7B, 0x7C, 0x7F},
    [CS_BF16] = {7, 127, 0x7F7F, 0x7F80, 0x7FC0},
    [CS_F16] = {10, 15, 0x7BFF, 0x7C00, 0x7E00},
    [CS_F32] = {23, 127, 0x7F7FFFFF, 0x7F800000, 0x7FC00000},
    [CS_F64] = {52, 1023, UINT64_C(0x7FEFFFFFFFFFFFFF), UINT64_C(0x7FF0000000000000), UINT64_C(0x7FF8000000000000)},
};

/* 2^n, of a normal number. The library's functions do far more, and millions of elements come through here. */
static double power_of_two(int n) {
    uint64_t bits = (uint64_t)(n + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

static int exponent_of(double magnitude) {
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    int exponent = (int)(bits >> 52);
    return exponent ? exponent - 1023 : ilogb(magnitude);
}

/* magnitude * 2^n: exact where it is normal; too small to be anything but 0 where it is not. f64 reaches beyond. */
static double scale(const struct float_format *format, double magnitude, int n) {
    return format->mantissa == 52 ? ldexp(magnitude, n) : magnitude * power_of_two(n);
}

/* To the nearest whole number below 2^52, even in the middle: what the sum of the two has no bits for is rounded away.
 */
static double round_to_whole(double magnitude) {
    const double first_without_fraction = 0x1p52;
    return magnitude >= first_without_fraction ? magnitude
                                               : magnitude + first_without_fraction - first_without_fraction;
}

/* Bits of a finite magnitude, rounded to nearest even in units of the last place at its exponent. */
static uint64_t round_magnitude(const struct float_format *format, double magnitude) {
    if (magnitude == 0) return 0;
    int exponent = exponent_of(magnitude), lowest = 1 - format->bias;
    int step = (exponent > lowest ? exponent : lowest) - format->mantissa;
    uint64_t units = (uint64_t)round_to_whole(scale(format, magnitude, -step));
    if (exponent < lowest) return units; /* subnormal; a carry makes the smallest normal number */
    uint64_t hidden = UINT64_C(1) << format->mantissa;
    /* A carry out of the mantissa raises the exponent by itself. */
    uint64_t bits = ((uint64_t)(exponent - lowest + 1) << format->mantissa) + (units - hidden);
    return bits > format->largest ? format->beyond : bits;
}

static enum cs_status encode_float(enum cs_dtype dtype, double value, uint64_t *bits) {
    const struct float_format *format = &float_formats[dtype];
    CS_REQUIRE(!isnan(value) || format->nan, CS_BAD_VALUE, "%s has no NaN", cs_dtype_name(dtype));
    uint64_t magnitude = isnan(value)   ? format->nan
                         : isinf(value) ? format->beyond
                                        : round_magnitude(format, fabs(value));
    uint64_t sign = signbit(value) ? UINT64_C(1) << (cs_dtype_bits(dtype) - 1) : 0;
    *bits = sign | magnitude;
    return CS_OK;
}

static double decode_float(enum cs_dtype dtype, uint64_t bits) {
    const struct float_format *format = &float_formats[dtype];
    uint64_t sign = UINT64_C(1) << (cs_dtype_bits(dtype) - 1), magnitude = bits & (sign - 1);
    uint64_t hidden = UINT64_C(1) << format->mantissa;
    int exponent = (int)(magnitude >> format->mantissa);
    double value = (double)(magnitude & (hidden - 1));
    if (magnitude > format->largest)
        value = magnitude == format->beyond ? INFINITY : NAN;
    else if (exponent == 0)
        value = scale(format, value, 1 - format->bias - format->mantissa);
    else
        value = scale(format, value + (double)hidden, exponent - format->bias - format->mantissa);
    return bits & sign ? -value : value;
}

static enum cs_status encode_e8m0(double value, uint64_t *bits) {
    enum { BIAS = 127, NOT_A_NUMBER = 255 };
    int exponent = 0;
    if (isnan(value)) {
        *bits = NOT_A_NUMBER;
        return CS_OK;
    }
    bool is_power = isfinite(value) && frexp(value, &exponent) == 0.5;
    exponent += BIAS - 1; /* frexp: 1.0 = 0.5 * 2^1 */
    CS_REQUIRE(is_power && exponent >= 0 && exponent < NOT_A_NUMBER, CS_BAD_VALUE,
               "e8m0 holds powers of two from 2^-127 to 2^127, not %g", value);
    *bits = (uint64_t)exponent;
    return CS_OK;
}

/* ---- integers ---- */

static bool is_signed(enum cs_dtype dtype) {
    return dtype == CS_I8 || dtype == CS_I16 || dtype == CS_I32 || dtype == CS_I64;
}

static uint64_t low_bits(uint64_t bits, int n) { return n == 64 ? bits : bits & ((UINT64_C(1) << n) - 1); }

static enum cs_status encode_integer(enum cs_dtype dtype, double value, uint64_t *bits) {
    int width = dtype == CS_BOOL ? 1 : cs_dtype_bits(dtype);
    double low = is_signed(dtype) ? -ldexp(1, width - 1) : 0;
    double high = ldexp(1, is_signed(dtype) ? width - 1 : width); /* first value that is too large */
    double whole = trunc(value);                                  /* NaN fails both comparisons */
    CS_REQUIRE(whole >= low && whole < high, CS_BAD_VALUE, "%s holds whole numbers from %.0f to below %.0f, not %g",
               cs_dtype_name(dtype), low, high, value);
    *bits = low_bits(whole < 0 ? (uint64_t)(int64_t)whole : (uint64_t)whole, width);
    return CS_OK;
}

static double decode_integer(enum cs_dtype dtype, uint64_t bits) {
    int width = cs_dtype_bits(dtype);
    bits = low_bits(bits, width);
    if (dtype == CS_BOOL) return bits != 0;
    bool is_negative = is_signed(dtype) && bits >> (width - 1);
    return is_negative ? -(double)low_bits(~bits + 1, width) : (double)bits;
}

/* ---- any dtype ---- */

enum cs_status cs_dtype_encode(enum cs_dtype dtype, double value, uint64_t *bits) {
    if (dtype == CS_E8M0) return encode_e8m0(value, bits);
    return cs_dtype_is_floating(dtype) ? encode_float(dtype, value, bits) : encode_integer(dtype, value, bits);
}

double cs_dtype_decode(enum cs_dtype dtype, uint64_t bits) {
    if (dtype == CS_E8M0) return (bits & 0xFF) == 0xFF ? NAN : ldexp(1, (int)(bits & 0xFF) - 127);
    return cs_dtype_is_floating(dtype) ? decode_float(dtype, bits) : decode_integer(dtype, bits);
}
