/* Known programs over ordinary numbers, as almost all are: without NaN, the machine's own instructions for narrow formats,
 * minima and quotients give the very bits that the exact way does, in a quarter of the instructions. Each function says
 * whether all numbers of a group were ordinary; if not, known.cuh computes the group again, exactly. */
#ifndef CS_GPU_ORDINARY_CUH
#define CS_GPU_ORDINARY_CUH

#include "gpu/words.cuh"

namespace {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define HAS_E4M3 1
#endif

/* ---- pairs: the first number is in the lower half ---- */

#ifdef __CUDA_ARCH__
HD void numbers_of_f16_pair(uint32_t pair, uint32_t &first, uint32_t &second) {
    float low, high;
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}" : "=f"(low), "=f"(high) : "r"(pair));
    first = bits_of_f32(low), second = bits_of_f32(high);
}

HD uint32_t f16_pair_of(uint32_t first, uint32_t second) {
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(f32_of_bits(second)), "f"(f32_of_bits(first)));
    return pair;
}

HD uint32_t bf16_pair_of(uint32_t first, uint32_t second) {
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(f32_of_bits(second)), "f"(f32_of_bits(first)));
    return pair;
}
#endif

template <enum cs_dtype dtype> HD uint32_t pair_of(uint32_t first, uint32_t second) {
#ifdef __CUDA_ARCH__
    if constexpr (dtype == CS_F16) return f16_pair_of(first, second);
    if constexpr (dtype == CS_BF16) return bf16_pair_of(first, second);
#endif
#ifdef HAS_E4M3
    if constexpr (dtype == CS_E4M3) {
        uint16_t pair;
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(f32_of_bits(second)), "f"(f32_of_bits(first)));
        return pair;
    }
#endif
    return static_cast<uint32_t>(narrowed(dtype, first) | narrowed(dtype, second) << width_in_bits(dtype));
}

HD void numbers_of_e4m3_pair(uint32_t pair, uint32_t &first, uint32_t &second) {
#ifdef HAS_E4M3
    uint32_t halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<uint16_t>(pair)));
    numbers_of_f16_pair(halves, first, second);
#else
    first = read_number(CS_E4M3, pair & 0xFF), second = read_number(CS_E4M3, pair >> 8 & 0xFF);
#endif
}

/* ---- groups ---- */

/* NaN stays one, with other bits. */
template <enum cs_dtype dtype> HD void ordinary_numbers(const uint32_t (&word)[words_of(dtype)], uint32_t (&x)[KNOWN]) {
    if constexpr (dtype == CS_E4M3)
        each_of<KNOWN / 2>([&](int k) { numbers_of_e4m3_pair(word[k / 2] >> (k % 2 * 16), x[2 * k], x[2 * k + 1]); });
    else
        numbers_of_words<dtype>(word, x);
}

template <enum cs_dtype dtype> HD void words_of_ordinary(const uint32_t (&x)[KNOWN], uint32_t (&word)[words_of(dtype)]) {
    constexpr int bits = width_in_bits(dtype), in_word = 32 / bits;
    if constexpr (is_floating(dtype) && (bits == 8 || bits == 16)) {
        each_of<words_of(dtype)>([&](int i) { word[i] = 0; });
        each_of<KNOWN / 2>([&](int k) { word[2 * k / in_word] |= pair_of<dtype>(x[2 * k], x[2 * k + 1]) << (2 * k % in_word * bits % 32); });
    } else
        words_of_numbers<dtype>(x, word);
}

HD bool has_no_nan(const uint32_t (&x)[KNOWN]) {
    bool has_nan = false;
    each_of<KNOWN>([&](int k) { has_nan |= is_nan(x[k]); });
    return !has_nan;
}

template <enum cs_dtype dtype> HD void round_ordinary(uint32_t (&x)[KNOWN]) {
#ifdef __CUDA_ARCH__
    if constexpr (dtype == CS_F16)
        return each_of<KNOWN / 2>([&](int k) { numbers_of_f16_pair(f16_pair_of(x[2 * k], x[2 * k + 1]), x[2 * k], x[2 * k + 1]); });
#endif
    each_of<KNOWN>([&](int k) { x[k] = rounded_to(dtype, x[k]); });
}

template <enum cs_dtype dtype> HD void encode_ordinary(uint32_t (&x)[KNOWN]) {
    constexpr int bits = width_in_bits(dtype);
    static_assert(bits == 8 || bits == 16, "pairs are of narrow dtypes");
    each_of<KNOWN / 2>([&](int k) {
        const uint32_t pair = pair_of<dtype>(x[2 * k], x[2 * k + 1]), mask = (UINT32_C(1) << bits) - 1;
        x[2 * k] = pair & mask, x[2 * k + 1] = pair >> bits & mask;
    });
}

/* The larger, or the smaller, of numbers and one v that is neither NaN nor a zero, whose sign another zero may not have. */
template <enum cs_code code> HD void clamp_ordinary(uint32_t (&x)[KNOWN], uint32_t v) {
    const float b = f32_of_bits(v);
    each_of<KNOWN>([&](int k) {
        const float a = f32_of_bits(x[k]);
#ifdef __CUDA_ARCH__
        x[k] = bits_of_f32(code == CS_CODE_MAXIMUM ? fmaxf(a, b) : fminf(a, b));
#else
        x[k] = bits_of_f32((code == CS_CODE_MAXIMUM ? a > b : a < b) ? a : b);
#endif
    });
}

/* ---- quotients by one number ---- */

#ifdef __CUDA_ARCH__
/* Of numbers in [2^-60, 2^60] or 0 by one in [2^-40, 2^40], so that nothing overflows and remainders are exact: a quotient
 * that is corrected twice by its remainder and the rounded reciprocal is the nearest one (Markstein 1990). */
HD bool divide_middle(uint32_t (&x)[KNOWN], uint32_t v) {
    const float b = f32_of_bits(v), reciprocal = __frcp_rn(b);
    bool is_ordinary = fabsf(b) >= 0x1p-40f && fabsf(b) <= 0x1p40f;
    each_of<KNOWN>([&](int k) {
        const float a = f32_of_bits(x[k]);
        is_ordinary &= fabsf(a) <= 0x1p60f && (fabsf(a) >= 0x1p-60f || a == 0.0f);
        float quotient = __fmul_rn(a, reciprocal);
        quotient = __fmaf_rn(__fmaf_rn(-b, quotient, a), reciprocal, quotient);
        quotient = __fmaf_rn(__fmaf_rn(-b, quotient, a), reciprocal, quotient);
        x[k] = bits_of_f32(quotient) | ((x[k] ^ v) & 0x80000000); /* of zeros too */
    });
    return is_ordinary;
}
#else
HD bool divide_middle(uint32_t (&x)[KNOWN], uint32_t v) {
    each_of<KNOWN>([&](int k) { x[k] = bits_of_f32(f32_of_bits(x[k]) / f32_of_bits(v)); });
    return true;
}
#endif

/* By a power of two, from 2^-127 to 2^127: the product with its reciprocal, which is exact. */
HD bool divide_ordinary(uint32_t (&x)[KNOWN], uint32_t v) {
    const uint32_t size = v & 0x7FFFFFFF, least = 0x00400000, most = 0x7F000000;
    if (size != least && (size & 0x7FFFFF || size < 0x00800000 || size > most)) return divide_middle(x, v);
    const float reciprocal = f32_of_bits((v & 0x80000000) | (size == least ? most : size == most ? least : most - size));
    each_of<KNOWN>([&](int k) { x[k] = bits_of_f32(plain(CS_CODE_MULTIPLY, f32_of_bits(x[k]), reciprocal)); });
    return true;
}

/* ---- programs ---- */

HD constexpr bool is_clamp(enum cs_code code) { return code == CS_CODE_MAXIMUM || code == CS_CODE_MINIMUM; }

/* Whether all of a program's instructions have such a way, and some of them is worth it. Of what was encoded only bits move. */
HD constexpr bool has_ordinary_way(const struct cs_gpu_known_program &program) {
    bool has_way = true, is_worth_it = program.operand[0] == CS_E4M3, is_encoded = false;
    for (int i = 0; i < program.n_instructions; i++) {
        const enum cs_code code = program.instruction[i].code;
        const bool is_arithmetic = code == CS_CODE_MULTIPLY || code == CS_CODE_DIVIDE;
        const bool is_loaded = code == CS_CODE_LOAD && i == 0 && program.instruction[i].operand == 0;
        const bool has_number = is_arithmetic || is_clamp(code) || code == CS_CODE_ROUND || code == CS_CODE_ABSOLUTE || code == CS_CODE_ZERO_LOW;
        is_worth_it = is_worth_it || is_arithmetic || code == CS_CODE_ROUND;
        has_way = has_way && (is_encoded ? code == CS_CODE_RIGHT : is_loaded || has_number || code == CS_CODE_ENCODE);
        has_way = has_way && (i == 0 || program.instruction[i].operand != 0);
        is_encoded = is_encoded || code == CS_CODE_ENCODE;
    }
    return has_way && is_worth_it;
}

/* Whether its steps say that a group with a NaN is not ordinary. */
HD constexpr bool has_looked_for_nan(const struct cs_gpu_known_program &program) {
    bool has = is_clamp(program.instruction[program.n_instructions - 1].code);
    for (int i = 0; i < program.n_instructions; i++) has = has || program.instruction[i].code == CS_CODE_ENCODE;
    return has;
}

/* v: the instruction's other number. After one clamp it is known that there is no NaN. */
template <class Row, int i> HD bool ordinary_step(uint32_t (&x)[KNOWN], uint32_t v) {
    constexpr enum cs_code code = Row::program.instruction[i].code;
    if constexpr (code == CS_CODE_DIVIDE) return divide_ordinary(x, v);
    if constexpr (code == CS_CODE_ROUND) round_ordinary<Row::program.instruction[i].dtype>(x);
    if constexpr (code == CS_CODE_MULTIPLY)
        each_of<KNOWN>([&](int k) { x[k] = bits_of_f32(plain(code, f32_of_bits(x[k]), f32_of_bits(v))); });
    if constexpr (code == CS_CODE_ENCODE) {
        const bool is_ordinary = has_no_nan(x);
        encode_ordinary<Row::program.instruction[i].dtype>(x);
        return is_ordinary;
    }
    if constexpr (code == CS_CODE_ABSOLUTE || code == CS_CODE_ZERO_LOW || code == CS_CODE_RIGHT) step_each<code, KNOWN>(x, [&](int) { return v; });
    if constexpr (is_clamp(code)) {
        const bool is_ordinary = (is_clamp(Row::program.instruction[i - 1].code) || has_no_nan(x)) && !is_nan(v) && (v & 0x7FFFFFFF) != 0;
        clamp_ordinary<code>(x, v);
        return is_ordinary;
    }
    return true;
}

} // namespace

#endif
