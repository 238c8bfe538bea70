/* What moves at once, where it is, and the arithmetic of indices. */
#ifndef CS_GPU_UNITS_CUH
#define CS_GPU_UNITS_CUH

#include "gpu/launch.cuh"

namespace {

/* ---- units ---- */

struct alignas(16) u128 {
    uint64_t word[2];
};

/* Four bits that share a byte with another view's. */
struct nibble {};

template <class T> struct access {
    typedef T value;
    static HD T load(const unsigned char *base, int64_t at) {
#ifdef __CUDA_ARCH__
        return reinterpret_cast<const T *>(base)[at];
#else
        T unit;
        memcpy(&unit, base + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
        return unit;
#endif
    }
    static HD void store(unsigned char *base, int64_t at, T unit) {
#ifdef __CUDA_ARCH__
        reinterpret_cast<T *>(base)[at] = unit;
#else
        memcpy(base + at * static_cast<int64_t>(sizeof(T)), &unit, sizeof(T));
#endif
    }
};

#ifdef __CUDA_ARCH__
template <> HD u128 access<u128>::load(const unsigned char *base, int64_t at) {
    const ulonglong2 pair = reinterpret_cast<const ulonglong2 *>(base)[at];
    return u128{{pair.x, pair.y}};
}
template <> HD void access<u128>::store(unsigned char *base, int64_t at, u128 unit) {
    reinterpret_cast<ulonglong2 *>(base)[at] = make_ulonglong2(unit.word[0], unit.word[1]);
}
#endif

/* Threads may write the two halves of a byte at once: each changes only its own bits, in one step. */
HD void set_nibble(unsigned char *base, int64_t at, unsigned bits) {
    const unsigned shift = static_cast<unsigned>(at & 1) * 4;
#ifdef __CUDA_ARCH__
    const uintptr_t address = reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(at >> 1);
    unsigned *word = reinterpret_cast<unsigned *>(address & ~uintptr_t(3));
    const unsigned place = shift + static_cast<unsigned>(address & 3) * 8;
    atomicAnd(word, ~(15u << place));
    atomicOr(word, (bits & 15u) << place);
#else
    unsigned char *byte = base + (at >> 1);
    __atomic_fetch_and(byte, static_cast<unsigned char>(~(15u << shift)), __ATOMIC_RELAXED);
    __atomic_fetch_or(byte, static_cast<unsigned char>((bits & 15u) << shift), __ATOMIC_RELAXED);
#endif
}

template <> struct access<nibble> {
    typedef uint8_t value;
    static HD uint8_t load(const unsigned char *base, int64_t at) {
        return static_cast<uint8_t>(base[at >> 1] >> ((at & 1) * 4) & 15);
    }
    static HD void store(unsigned char *base, int64_t at, uint8_t unit) { set_nibble(base, at, unit); }
};

template <class T> HD uint64_t low_word(T unit) { return unit; }
HD uint64_t low_word(u128 unit) { return unit.word[0]; }
template <class T> HD uint64_t high_word(T) { return 0; }
HD uint64_t high_word(u128 unit) { return unit.word[1]; }
template <class T> struct unit_of_words {
    static HD T make(uint64_t low, uint64_t) { return static_cast<T>(low); }
};
template <> struct unit_of_words<u128> {
    static HD u128 make(uint64_t low, uint64_t high) { return u128{{low, high}}; }
};

template <class T> struct bits_of { enum { value = sizeof(T) * 8 }; };
template <> struct bits_of<nibble> { enum { value = 4 }; };

/* Calls f with a value of the unit's type. */
template <class F> enum cs_status by_width(int bits, const F &f) {
    switch (bits) {
    case 4: return f(nibble());
    case 8: return f(uint8_t());
    case 16: return f(uint16_t());
    case 32: return f(uint32_t());
    case 64: return f(uint64_t());
    default: return f(u128());
    }
}

/* Calls f with an index of the type that n units take. */
template <class F> enum cs_status by_index(int64_t n, const F &f) { return cs_gpu_is_wide(n) ? f(uint64_t()) : f(uint32_t()); }

/* ---- indices ---- */

HD uint32_t quotient(uint32_t n, const struct cs_gpu_divisor &d) {
    return static_cast<uint32_t>((static_cast<uint64_t>(n) * d.multiplier >> 31) >> d.shift);
}

HD uint64_t quotient(uint64_t n, const struct cs_gpu_divisor &d) {
#ifdef __CUDA_ARCH__
    const uint64_t high = __umul64hi(n, d.wide_multiplier), low = n * d.wide_multiplier;
#else
    __extension__ typedef unsigned __int128 wide;
    const wide product = static_cast<wide>(n) * d.wide_multiplier;
    const uint64_t high = static_cast<uint64_t>(product >> 64), low = static_cast<uint64_t>(product);
#endif
    return (high << 1 | low >> 63) >> d.shift;
}

/* Takes the next digit off `rest`. */
template <class I> HD int64_t next_digit(I &rest, const struct cs_gpu_divisor &extent) {
    const I outer = quotient(rest, extent);
    const I digit = rest - outer * static_cast<I>(extent.extent);
    rest = outer;
    return static_cast<int64_t>(digit);
}

/* f(d, digit) for each of n digits of i, innermost first. The outermost is what is left when all others are taken: it
 * needs no division. N: how many are worked on at once; more take more registers. */
template <int N = 4, class I, class F> HD void each_digit(const struct cs_gpu_divisor *extent, int n, I i, const F &f) {
    if (n == 0) return;
#ifdef __CUDA_ARCH__
#pragma unroll N
#endif
    for (int d = 0; d + 1 < n; d++) f(d, next_digit(i, extent[d]));
    f(n - 1, static_cast<int64_t>(i));
}

/* Sum of digit * coefficient over n digits of i. */
template <int N = 4, class I> HD int64_t form_of(const struct cs_gpu_divisor *extent, int n, const int64_t *coefficient, I i) {
    int64_t sum = 0;
    each_digit<N>(extent, n, i, [&](int d, int64_t digit) { sum += digit * coefficient[d]; });
    return sum;
}

struct positions {
    int64_t at[2];
};

template <int N, class I> HD positions positions_of(const struct cs_gpu_walk &walk, I i) {
    positions p;
    for (int v = 0; v < N; v++) p.at[v] = walk.start[v];
    each_digit(walk.extent, walk.ndim, i, [&](int d, int64_t digit) {
        for (int v = 0; v < N; v++) p.at[v] += digit * walk.stride[v][d];
    });
    return p;
}

/* ---- bits ---- */

/* The finaliser of cs_mix64: Stafford's mix 13. */
HD uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

HD int highest_bit(uint64_t x) { /* x > 0 */
#ifdef __CUDA_ARCH__
    return 63 - __clzll(static_cast<long long>(x));
#else
    return 63 - __builtin_clzll(x);
#endif
}

HD uint32_t bits_of_f32(float value) {
#ifdef __CUDA_ARCH__
    return __float_as_uint(value);
#else
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
#endif
}

HD float f32_of_bits(uint32_t bits) {
#ifdef __CUDA_ARCH__
    return __uint_as_float(bits);
#else
    float value;
    memcpy(&value, &bits, 4);
    return value;
#endif
}

/* ---- shared counters: any order gives the same ---- */

HD void atomic_add(uint64_t *to, uint64_t value) {
#ifdef __CUDA_ARCH__
    atomicAdd(reinterpret_cast<unsigned long long *>(to), static_cast<unsigned long long>(value));
#else
    __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
#endif
}

HD void atomic_max(uint64_t *to, uint64_t value) {
#ifdef __CUDA_ARCH__
    atomicMax(reinterpret_cast<unsigned long long *>(to), static_cast<unsigned long long>(value));
#else
    uint64_t seen = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (seen < value && !__atomic_compare_exchange_n(to, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
#endif
}

} // namespace

#endif
