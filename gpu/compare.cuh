/* Bitwise comparison: how many elements differ, and the first. Reads each byte of both sides once; limit: read bandwidth,
 * while they agree. Nothing but 24 bytes goes back to the host. */
#ifndef CS_GPU_COMPARE_CUH
#define CS_GPU_COMPARE_CUH

#include "gpu/reduce.cuh"

namespace {

template <class T, class I> struct compare_body {
    struct cs_gpu_compare job;

    struct loaded {
        typename access<T>::value a, b;
    };
    HD loaded load(I i) const {
        const positions p = positions_of<2>(job.walk, i);
        return loaded{access<T>::load(job.a, p.at[0]), access<T>::load(job.b, p.at[1])};
    }

    /* Elements of one word that are not zero; the first of them is element `index` of the views. */
    HD void add_word(struct cs_gpu_tally &tally, uint64_t word, uint64_t index) const {
        const uint64_t element = job.element_bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << job.element_bits) - 1;
        for (; word; index++) {
            if (word & element) {
                tally.n++;
                tally.last = tally.last > ~index ? tally.last : ~index;
            }
            word = job.element_bits == 64 ? 0 : word >> job.element_bits;
        }
    }

    HD void add(struct cs_gpu_tally &tally, I i, const loaded &l) const {
        const uint64_t low = low_word(l.a) ^ low_word(l.b), high = high_word(l.a) ^ high_word(l.b);
        if (!(low | high)) return;
        const uint64_t first = static_cast<uint64_t>(i) * static_cast<uint64_t>(job.walk.group);
        add_word(tally, low, first);
        add_word(tally, high, first + static_cast<uint64_t>(64 / job.element_bits));
    }
};

enum cs_status launch_compare(const struct cs_gpu_compare *job) {
    const struct cs_gpu_walk &walk = job->walk;
    return by_width(walk.bits, [&](auto unit) {
        return by_index(walk.n, [&](auto index) {
            typedef compare_body<decltype(unit), decltype(index)> body;
            return launch_reduction<body, decltype(index)>("compare", 2 * walk.n * walk.bits / 8, body{*job}, walk.n);
        });
    });
}

} // namespace

#endif
