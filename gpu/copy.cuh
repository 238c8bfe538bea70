/* Strided copy. Moves each byte twice, once in and once out; limit: memory bandwidth, where units are of 16 bytes. Shorter
 * units (rows that begin at odd addresses) pay in instructions: some 20 and one division per dimension, each. */
#ifndef CS_GPU_COPY_CUH
#define CS_GPU_COPY_CUH

#include "gpu/units.cuh"

namespace {

template <class T, class I> struct copy_body {
    struct cs_gpu_copy job;

    struct loaded {
        int64_t to;
        typename access<T>::value unit;
    };
    HD loaded load(I i) const {
        const positions p = positions_of<2>(job.walk, i);
        return loaded{p.at[0], access<T>::load(job.from, p.at[1])};
    }
    HD void store(const loaded &l) const { access<T>::store(job.to, l.to, l.unit); }
};

enum cs_status launch_copy(const struct cs_gpu_copy *job) {
    const struct cs_gpu_walk &walk = job->walk;
    return by_width(walk.bits, [&](auto unit) {
        return by_index(walk.n, [&](auto index) {
            typedef copy_body<decltype(unit), decltype(index)> body;
            return launch_each<body, decltype(index)>("copy", walk.n * walk.bits / 8, body{*job}, walk.n);
        });
    });
}

} // namespace

#endif
