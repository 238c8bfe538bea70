/* Probes: the plainest loops over the same bytes, which yardsticks are made of. No view, no division, no digit: what they
 * reach is the memory's limit, or that of a hash's arithmetic. */
#ifndef CS_GPU_PROBE_CUH
#define CS_GPU_PROBE_CUH

#include "gpu/reduce.cuh"

namespace {

/* Units of 16 bytes; runs of 2^shift of them, each followed by a gap of the same length. */
struct probe_write_body {
    struct cs_gpu_probe job;

    HD uint64_t load(uint64_t i) const { return job.has_gaps ? (i >> job.shift << (job.shift + 1)) | (i & ((UINT64_C(1) << job.shift) - 1)) : i; }
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
