/* Probes: the plainest loops over the same bytes, which yardsticks are made of. No views, no batches: what they reach is
 * the memory's limit, or that of a hash's arithmetic. */
#ifndef CS_GPU_PROBE_CUH
#define CS_GPU_PROBE_CUH

#include "gpu/reduce.cuh"

namespace {

/* Fewer than 2^31 units where they have a pitch. */
template <class T> struct probe_write_body {
    struct cs_gpu_probe job;

    HD uint64_t load(uint64_t i) const {
        if (job.pitch == 0) return i;
        const uint32_t unit = static_cast<uint32_t>(i), run = quotient(unit, job.run);
        return run * job.pitch + (unit - run * static_cast<uint32_t>(job.run.extent));
    }
    HD void store(uint64_t at) const { access<T>::store(job.data, static_cast<int64_t>(at), unit_of_words<T>::make(at, at)); }
};

enum cs_status launch_write(const struct cs_gpu_probe *job) {
    return by_width(job->unit_bits, [&](auto unit) {
        typedef typename access<decltype(unit)>::value T;
        return launch_each<probe_write_body<T>, uint64_t>("writing", job->n * job->unit_bits / 8, probe_write_body<T>{*job}, job->n);
    });
}

struct probe_hash_body {
    struct cs_gpu_probe job;

    HD uint64_t load(uint64_t i) const { return i; }
    HD void store(uint64_t i) const { access<u128>::store(job.data, static_cast<int64_t>(i), u128{{mix(17 + 2 * i), mix(18 + 2 * i)}}); }
};

struct probe_read_body {
    struct cs_gpu_probe job;

    HD u128 load(uint64_t i) const { return access<u128>::load(job.data, static_cast<int64_t>(i)); }
    HD void add(struct cs_gpu_tally &tally, uint64_t, const u128 &unit) const { tally.sum += unit.word[0] ^ unit.word[1]; }
};

enum cs_status launch_probe(const struct cs_gpu_probe *job) {
    const int64_t bytes = job->n * 16;
    switch (job->kind) {
    case CS_PROBE_READ: return launch_reduction<probe_read_body, uint64_t>("reading", bytes, probe_read_body{*job}, job->n);
    case CS_PROBE_HASH: return launch_each<probe_hash_body, uint64_t>("hashing", bytes, probe_hash_body{*job}, job->n);
    default: return launch_write(job);
    }
}

} // namespace

#endif
