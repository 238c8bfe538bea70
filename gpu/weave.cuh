/* Units woven from words of shared memory, as weave.c says. Shuffles are byte permutations, one instruction for four bytes;
 * masks, rotations and selectors are operands from constant memory. */
#ifndef CS_GPU_WEAVE_CUH
#define CS_GPU_WEAVE_CUH

#include "gpu/relayout.cuh"

namespace {

/* Byte i of the result: byte number (selector >> 4i) & 7 of a, then b; the selector has no other bits. The intrinsic would
 * clear those first, each time. */
HD uint32_t select_bytes(uint32_t a, uint32_t b, uint32_t selector) {
#ifdef __CUDA_ARCH__
    uint32_t selected;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(selected) : "r"(a), "r"(b), "r"(selector));
    return selected;
#else
    const uint64_t both = a | static_cast<uint64_t>(b) << 32;
    uint32_t selected = 0;
    for (int i = 0; i < 4; i++) selected |= static_cast<uint32_t>(both >> (selector >> (4 * i) & 7) * 8 & 0xFF) << (8 * i);
    return selected;
#endif
}

HD void shuffle_bytes(const struct cs_gpu_shuffle &shuffle, uint32_t (&x)[4]) {
    if (!shuffle.is_needed) return;
    uint32_t y[4];
    for (int w = 0; w < 4; w++)
        y[w] = select_bytes(select_bytes(x[0], x[1], shuffle.selector[w][0]), select_bytes(x[2], x[3], shuffle.selector[w][1]),
                            shuffle.selector[w][2]);
    for (int w = 0; w < 4; w++) x[w] = y[w];
}

/* Byte j of word k becomes byte k of word j. */
HD void transpose_bytes(uint32_t (&x)[4]) {
    const uint32_t a = select_bytes(x[0], x[1], 0x5140), b = select_bytes(x[0], x[1], 0x7362);
    const uint32_t c = select_bytes(x[2], x[3], 0x5140), d = select_bytes(x[2], x[3], 0x7362);
    x[0] = select_bytes(a, c, 0x5410);
    x[1] = select_bytes(a, c, 0x7632);
    x[2] = select_bytes(b, d, 0x5410);
    x[3] = select_bytes(b, d, 0x7632);
}

/* All steps of a row, whether or not they have bits: a test for each would cost as much. */
HD void weave_rows(const struct cs_gpu_weave &weave, uint32_t (&x)[4]) {
    uint32_t y[4] = {0, 0, 0, 0};
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int q = 0; q < 4; q++) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (int r = 0; r < CS_GPU_WEAVE_ROWS; r++) {
            if (r >= weave.n_rows[q]) break;
            for (int k = 0; k < 4; k++) y[q] |= rotate_left(x[k], weave.row[q][r].rotation[k]) & weave.row[q][r].mask[k];
        }
    }
    for (int q = 0; q < 4; q++) x[q] = y[q];
    transpose_bytes(x);
}

/* Byte by byte: lower nibbles of registers 0 and 1, of 2 and 3; then upper ones. */
HD void part_nibbles(uint32_t (&x)[4]) {
    const uint32_t lower = 0x0F0F0F0F, upper = 0xF0F0F0F0;
    const uint32_t y[4] = {(x[0] & lower) | (x[1] << 4 & upper), (x[2] & lower) | (x[3] << 4 & upper), (x[0] >> 4 & lower) | (x[1] & upper),
                           (x[2] >> 4 & lower) | (x[3] & upper)};
    for (int q = 0; q < 4; q++) x[q] = y[q];
    transpose_bytes(x);
}

HD u128 unit_of(const uint32_t (&x)[4]) { return u128{{x[0] | static_cast<uint64_t>(x[1]) << 32, x[2] | static_cast<uint64_t>(x[3]) << 32}}; }

/* F: the type of a field. */
template <class F> struct woven {
    typedef u128 unit;

    static HD u128 at(const struct cs_gpu_tile &job, const unsigned char *shared, int32_t first, uint32_t) {
        const struct cs_gpu_weave &weave = job.weave;
        constexpr int n = 4 / static_cast<int>(sizeof(F)); /* fields of a word */
        uint32_t x[4] = {0, 0, 0, 0};
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (int f = 0; f < 4 * n; f++)
            x[f / n] |= static_cast<uint32_t>(access<F>::load(shared + (first + weave.field[f]), 0)) << (f % n * 8 * static_cast<int>(sizeof(F)));
        shuffle_bytes(weave.shuffle, x);
        if (weave.parts_nibbles)
            part_nibbles(x);
        else if (weave.has_rows)
            weave_rows(weave, x);
        return unit_of(x);
    }

    /* On the way into shared memory. */
    template <class L> static HD L arranged(const struct cs_gpu_tile &, L loaded) { return loaded; }
    static HD u128 arranged(const struct cs_gpu_tile &job, u128 loaded) {
        uint32_t x[4] = {static_cast<uint32_t>(loaded.word[0]), static_cast<uint32_t>(loaded.word[0] >> 32),
                         static_cast<uint32_t>(loaded.word[1]), static_cast<uint32_t>(loaded.word[1] >> 32)};
        shuffle_bytes(job.weave.chunk, x);
        return unit_of(x);
    }
};

/* Words that take a nibble from each of eight bytes; `first` counts nibbles. */
struct woven_nibbles : woven<uint32_t> {
    static HD u128 at(const struct cs_gpu_tile &job, const unsigned char *shared, int32_t first, uint32_t) {
        const struct cs_gpu_weave &weave = job.weave;
        const unsigned half = first & 1 ? 4 : 0;
        uint32_t x[4], field[8];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (int f = 0; f < 8; f++) field[f] = access<uint32_t>::load(shared + (first / 2 + weave.field[f]), 0);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (int q = 0; q < 4; q++) {
            const uint32_t *pair = &field[q / 2 * 4];
            const uint32_t low = select_bytes(pair[0], pair[1], weave.selector[2 * q]) >> half;
            const uint32_t high = select_bytes(pair[2], pair[3], weave.selector[2 * q + 1]) >> half;
            x[q] = (low & 0x0F0F0F0F) | (high & 0x0F0F0F0F) << 4;
        }
        transpose_bytes(x);
        return unit_of(x);
    }
};

/* Piece by piece. */
template <class T, class P> struct gathered {
    typedef T unit;

    static HD typename access<T>::value at(const struct cs_gpu_tile &job, const unsigned char *shared, int32_t first, uint32_t padding) {
        const auto made = assembled<T, P, int32_t>::at(shared, first, job.piece, padding);
        return job.has_word ? permute_unit(job.word, made) : made;
    }

    template <class L> static HD L arranged(const struct cs_gpu_tile &, L loaded) { return loaded; }
};

} // namespace

#endif
