/* Relayout, each destination unit straight from the source. Moves each byte twice; limit: memory bandwidth where pieces
 * are of 16 bytes, fetches of sectors that shorter pieces waste (tile.cuh avoids those), and some five instructions for
 * each digit of the plan. */
#ifndef CS_GPU_RELAYOUT_CUH
#define CS_GPU_RELAYOUT_CUH

#include "gpu/units.cuh"

namespace {

HD uint32_t rotate_left(uint32_t x, unsigned n) {
#ifdef __CUDA_ARCH__
    return __funnelshift_l(x, x, n);
#else
    return n == 0 ? x : x << n | x >> (32 - n);
#endif
}

/* Unrolled, so that masks and rotations are operands from constant memory, and all words of a unit share each step: two
 * instructions for a word, as the mask comes last. */
template <int N> HD void permute_words(const struct cs_gpu_word &word, uint32_t (&x)[N]) {
    uint32_t moved[N] = {};
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 0; i < 32; i++) {
        if (i >= word.n) break;
        for (int w = 0; w < N; w++) moved[w] |= rotate_left(x[w], word.rotation[i]) & word.mask[i];
    }
    for (int w = 0; w < N; w++) x[w] = moved[w] ^ word.inverted;
}

/* Bit k: piece k of a unit is padding. left_of(g): what is left of guard g at the unit's first piece. */
template <class F> HD uint32_t padding_of(const struct cs_gpu_guards &guards, const F &left_of) {
    uint32_t padding = 0;
    for (int g = 0; g < guards.n; g++) {
        const int64_t left = left_of(g);
        if (guards.guard[g].most < left) continue;
        for (int k = 0; k < guards.n_pieces; k++) padding |= static_cast<uint32_t>(guards.guard[g].piece[k] >= left) << k;
    }
    return padding;
}

HD uint32_t permute_unit(const struct cs_gpu_word &word, uint32_t unit) {
    uint32_t x[1] = {unit};
    permute_words(word, x);
    return x[0];
}
HD uint64_t permute_unit(const struct cs_gpu_word &word, uint64_t unit) {
    uint32_t x[2] = {static_cast<uint32_t>(unit), static_cast<uint32_t>(unit >> 32)};
    permute_words(word, x);
    return x[0] | static_cast<uint64_t>(x[1]) << 32;
}
HD u128 permute_unit(const struct cs_gpu_word &word, u128 unit) {
    uint32_t x[4] = {static_cast<uint32_t>(unit.word[0]), static_cast<uint32_t>(unit.word[0] >> 32), static_cast<uint32_t>(unit.word[1]),
                     static_cast<uint32_t>(unit.word[1] >> 32)};
    permute_words(word, x);
    return u128{{x[0] | static_cast<uint64_t>(x[1]) << 32, x[2] | static_cast<uint64_t>(x[3]) << 32}};
}
HD uint8_t permute_unit(const struct cs_gpu_word &, uint8_t unit) { return unit; } /* words are permuted afterwards */
HD uint16_t permute_unit(const struct cs_gpu_word &, uint16_t unit) { return unit; }

/* A unit from its pieces: piece k is number first + piece[k] of `from`, or zero. */
template <class T, class P, class Offset> struct assembled {
    typedef typename access<T>::value unit;
    static constexpr int piece_bits = bits_of<P>::value, n = bits_of<T>::value / piece_bits;

    static HD void take(uint64_t *word, int k, const unsigned char *from, Offset at) {
        const uint64_t piece = access<P>::load(from, at);
        word[k * piece_bits / 64] |= piece << (k * piece_bits % 64);
    }

    static HD unit at(const unsigned char *from, Offset first, const Offset *piece, uint32_t padding) {
        uint64_t word[2] = {0, 0};
        if (padding) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
            for (int k = 0; k < n; k++)
                if (!(padding >> k & 1)) take(word, k, from, first + piece[k]);
        } else {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
            for (int k = 0; k < n; k++) take(word, k, from, first + piece[k]);
        }
        return unit_of_words<unit>::make(word[0], word[1]);
    }
};
template <class Offset> struct assembled<u128, u128, Offset> {
    static HD u128 at(const unsigned char *from, Offset first, const Offset *piece, uint32_t padding) {
        if (padding) return u128{{0, 0}};
        return access<u128>::load(from, first + piece[0]);
    }
};

template <class T, class P, class I> struct relayout_body {
    struct cs_gpu_relayout job;

    struct loaded {
        I i;
        typename access<T>::value unit;
    };
    HD loaded load(I i) const {
        const struct cs_gpu_digits &digits = job.digits;
        const uint32_t padding = padding_of(job.guards, [&](int g) {
            return job.guards.guard[g].left - form_of(digits.extent, digits.n, digits.guard[g], i);
        });
        const int64_t first = job.start + form_of(digits.extent, digits.n, digits.source, i);
        return loaded{i, assembled<T, P, int64_t>::at(job.from, first, job.piece, padding)};
    }
    HD void store(const loaded &l) const {
        access<T>::store(job.to, static_cast<int64_t>(l.i), job.has_word ? permute_unit(job.word, l.unit) : l.unit);
    }
};

/* f with a unit's type and a piece's, for the pairs that relayout.c makes. */
template <class F> enum cs_status by_unit_and_piece(int unit, int piece, const F &f) {
    switch (unit * 1000 + piece) {
    case 128128: return f(u128(), u128());
    case 128064: return f(u128(), uint64_t());
    case 128032: return f(u128(), uint32_t());
    case 128016: return f(u128(), uint16_t());
    case 128008: return f(u128(), uint8_t());
    case 128004: return f(u128(), nibble());
    case 64064: return f(uint64_t(), uint64_t());
    case 32032: return f(uint32_t(), uint32_t());
    case 32016: return f(uint32_t(), uint16_t());
    case 32008: return f(uint32_t(), uint8_t());
    case 32004: return f(uint32_t(), nibble());
    case 16016: return f(uint16_t(), uint16_t());
    case 8008: return f(uint8_t(), uint8_t());
    case 8004: return f(uint8_t(), nibble());
    default: return f(nibble(), nibble());
    }
}

enum cs_status launch_relayout(const struct cs_gpu_relayout *job) {
    return by_unit_and_piece(job->unit_bits, job->piece_bits, [&](auto unit, auto piece) {
        return by_index(job->n_units, [&](auto index) {
            typedef relayout_body<decltype(unit), decltype(piece), decltype(index)> body;
            return launch_each<body, decltype(index)>("relayout", job->n_units * job->unit_bits / 8, body{*job}, job->n_units);
        });
    });
}

/* ---- words that no unit holds whole ---- */

struct permute_body {
    struct cs_gpu_permute job;

    HD uint64_t load(uint64_t i) const { return i; }
    HD void store(uint64_t i) const {
        unsigned char *b = job.bytes + 4 * i;
        uint32_t word = 0;
        for (int k = 0; k < 4; k++) word |= static_cast<uint32_t>(b[k]) << (8 * k);
        word = permute_unit(job.word, word);
        for (int k = 0; k < 4; k++) b[k] = static_cast<unsigned char>(word >> (8 * k) & 0xFF);
    }
};

enum cs_status launch_permute(const struct cs_gpu_permute *job) {
    return launch_each<permute_body, uint64_t>("permuting the words", job->n_words * 4, permute_body{*job}, job->n_words);
}

} // namespace

#endif
