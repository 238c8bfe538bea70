/* Probes: the plainest loops over the same bytes, which yardsticks are made of. No views, no batches: what they reach is
 * the memory's limit, or that of a hash's arithmetic. */
#ifndef CS_GPU_PROBE_CUH
#define CS_GPU_PROBE_CUH

#include "gpu/reduce.cuh"

namespace {

/* Units of 16 bytes; fewer than 2^31 where they have a pitch. */
struct probe_write_body {
    struct cs_gpu_probe job;

    HD uint64_t load(uint64_t i) const {
        if (job.pitch == 0) return i;
        const uint32_t unit = static_cast<uint32_t>(i), run = quotient(unit, job.run);
        return run * job.pitch + (unit - run * static_cast<uint32_t>(job.run.extent));
    }
    HD void store(uint64_t at) const { access<u128>::store(job.data, static_cast<int64_t>(at), u128{{at, at}}); }
};

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
    default: return launch_each<probe_write_body, uint64_t>("writing", bytes, probe_write_body{*job}, job->n);
    }
}

} // namespace

#endif
