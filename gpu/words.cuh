/* Groups of elements of one dtype that is known when a kernel is compiled: as words in memory, and as numbers. */
#ifndef CS_GPU_WORDS_CUH
#define CS_GPU_WORDS_CUH

#include "gpu/arithmetic.cuh"

namespace {

enum { KNOWN = CS_GPU_KNOWN_GROUP };

/* Words of 32 bits that a group fills. */
HD constexpr int words_of(enum cs_dtype dtype) { return KNOWN * width_in_bits(dtype) / 32; }

template <int bits> struct unsigned_of;
template <> struct unsigned_of<8> { typedef uint8_t type; };
template <> struct unsigned_of<16> { typedef uint16_t type; };
template <> struct unsigned_of<32> { typedef uint32_t type; };

/* ---- groups in memory: words of 32 bits, the first element in the lowest bits ---- */

template <int words> HD void load_words(const unsigned char *from, uint32_t (&word)[words]) {
    if constexpr (words == 2) {
        const uint64_t both = access<uint64_t>::load(from, 0);
        word[0] = static_cast<uint32_t>(both), word[1] = static_cast<uint32_t>(both >> 32);
    } else
        each_of<words / 4>([&](int i) {
            const u128 unit = access<u128>::load(from, i);
            word[4 * i] = static_cast<uint32_t>(unit.word[0]), word[4 * i + 1] = static_cast<uint32_t>(unit.word[0] >> 32);
            word[4 * i + 2] = static_cast<uint32_t>(unit.word[1]), word[4 * i + 3] = static_cast<uint32_t>(unit.word[1] >> 32);
        });
}

HD uint64_t joined(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }

template <int words> HD void store_words(unsigned char *to, const uint32_t (&word)[words]) {
    if constexpr (words == 2)
        access<uint64_t>::store(to, 0, joined(word[0], word[1]));
    else
        each_of<words / 4>([&](int i) {
            access<u128>::store(to, i, u128{{joined(word[4 * i], word[4 * i + 1]), joined(word[4 * i + 2], word[4 * i + 3])}});
        });
}

template <enum cs_dtype dtype> HD void numbers_of_words(const uint32_t (&word)[words_of(dtype)], uint32_t (&x)[KNOWN]) {
    constexpr int bits = width_in_bits(dtype), in_word = 32 / bits;
    constexpr uint32_t mask = bits == 32 ? ~UINT32_C(0) : (UINT32_C(1) << (bits % 32)) - 1;
    each_of<KNOWN>([&](int k) { x[k] = read_number(dtype, word[k / in_word] >> (k % in_word * bits) & mask); });
}

template <enum cs_dtype dtype> HD void words_of_numbers(const uint32_t (&x)[KNOWN], uint32_t (&word)[words_of(dtype)]) {
    constexpr int bits = width_in_bits(dtype), in_word = 32 / bits, n_words = words_of(dtype);
    constexpr uint32_t mask = bits == 32 ? ~UINT32_C(0) : (UINT32_C(1) << (bits % 32)) - 1;
    each_of<n_words>([&](int i) { word[i] = 0; });
    each_of<KNOWN>([&](int k) { word[k / in_word] |= (static_cast<uint32_t>(narrowed(dtype, x[k])) & mask) << (k % in_word * bits); });
}

} // namespace

#endif
