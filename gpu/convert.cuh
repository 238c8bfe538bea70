/* Conversion by value (numbers.cuh). Reads an element of one width and writes one of another; limit: loads and stores, of
 * an element each; of dense scales that become wider, a group of 16 elements at once, memory. */
#ifndef CS_GPU_CONVERT_CUH
#define CS_GPU_CONVERT_CUH

#include "gpu/words.cuh"

namespace {

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

/* ---- groups of known dtypes ---- */

/*    from, to */
#define DENSE_CONVERSIONS(X)                                                                                           \
    X(E4M3, BF16)                                                                                                      \
    X(E4M3, F16)

template <enum cs_dtype to_dtype, enum cs_dtype from_dtype> struct convert_group_body {
    unsigned char *to;
    const unsigned char *from;

    struct loaded {
        int64_t group;
        uint32_t word[words_of(from_dtype)];
    };
    HD loaded load(int64_t group) const {
        loaded l;
        l.group = group;
        load_words(from + group * words_of(from_dtype) * 4, l.word);
        return l;
    }
    HD void store(const loaded &l) const {
        constexpr int from_bits = width_in_bits(from_dtype), to_bits = width_in_bits(to_dtype);
        constexpr uint32_t mask = from_bits == 32 ? ~UINT32_C(0) : (UINT32_C(1) << (from_bits % 32)) - 1;
        uint32_t word[words_of(to_dtype)];
        each_of<words_of(to_dtype)>([&](int i) { word[i] = 0; });
        each_of<KNOWN>([&](int k) {
            const uint32_t bits = l.word[k * from_bits / 32] >> (k * from_bits % 32) & mask;
            word[k * to_bits / 32] |= static_cast<uint32_t>(convert_bits(to_dtype, from_dtype, bits)) << (k * to_bits % 32);
        });
        store_words(to + l.group * words_of(to_dtype) * 4, word);
    }
};

/* Whole groups that lie densely from `data` on, at multiples of 16 bytes. */
inline bool is_in_groups(const unsigned char *data, const struct cs_gpu_walk &walk, int view) {
    return walk.ndim == 1 && walk.stride[view][0] == 1 && walk.start[view] % KNOWN == 0 && walk.n % KNOWN == 0 &&
           reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

template <enum cs_dtype to, enum cs_dtype from> enum cs_status launch_convert_groups(const struct cs_gpu_convert *job) {
    typedef convert_group_body<to, from> body;
    const struct cs_gpu_walk &walk = job->walk;
    const body b = {job->to + walk.start[0] * width_in_bits(to) / 8, job->from + walk.start[1] * width_in_bits(from) / 8};
    return launch_each<body, int64_t>("convert", walk.n * width_in_bits(to) / 8, b, walk.n / KNOWN);
}

/* ---- all ---- */

enum cs_status launch_convert(const struct cs_gpu_convert *job) {
    const struct cs_gpu_walk &walk = job->walk;
    const bool is_dense = is_in_groups(job->to, walk, 0) && is_in_groups(job->from, walk, 1);
#define X(from, to)                                                                                                    \
    if (is_dense && job->from_dtype == CS_##from && job->to_dtype == CS_##to) return launch_convert_groups<CS_##to, CS_##from>(job);
    DENSE_CONVERSIONS(X)
#undef X
    return by_size(width_in_bits(job->to_dtype), [&](auto to) {
        return by_size(width_in_bits(job->from_dtype), [&](auto from) {
            return by_index(walk.n, [&](auto index) {
                typedef convert_body<decltype(to), decltype(from), decltype(index)> body;
                return launch_each<body, decltype(index)>("convert", walk.n * walk.bits / 8, body{*job}, walk.n);
            });
        });
    });
}

} // namespace

#endif
