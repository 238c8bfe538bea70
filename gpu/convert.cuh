/* Conversion by value (numbers.cuh). Reads an element of one width and writes one of another; limit: instructions. */
#ifndef CS_GPU_CONVERT_CUH
#define CS_GPU_CONVERT_CUH

#include "gpu/numbers.cuh"

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
