/* Digest: the sum of mixed words. Reads each byte once; limit: read bandwidth where words lie together (a mix takes some
 * 30 instructions for 8 bytes), loads where rows are no whole words and words are put together from smaller units.
 *
 * Views whose bytes lie together, which most do, share a launch: each has blocks of its own, in proportion to its size. */
#ifndef CS_GPU_DIGEST_CUH
#define CS_GPU_DIGEST_CUH

#include "gpu/reduce.cuh"

namespace {

/* Index: a word, or with units of 16 bytes a pair of words. */
template <class T, class I> struct digest_body {
    struct cs_gpu_digest job;
    static constexpr int bits = bits_of<T>::value, per_word = bits < 64 ? 64 / bits : 1, words = bits > 64 ? 2 : 1;

    HD u128 load(I i) const {
        u128 pair = {{0, 0}};
        for (int k = 0; k < per_word; k++) {
            const I u = i * per_word + static_cast<I>(k);
            if (static_cast<int64_t>(u) >= job.walk.n) break;
            const typename access<T>::value unit = access<T>::load(job.from, positions_of<1>(job.walk, u).at[0]);
            pair.word[0] |= low_word(unit) << (bits * k % 64);
            pair.word[1] = high_word(unit);
        }
        return pair;
    }

    HD void add(struct cs_gpu_tally &tally, I i, const u128 &pair) const {
        const uint64_t first = static_cast<uint64_t>(i) * words;
        for (int w = 0; w < words; w++) tally.sum += mix(pair.word[w] + (first + static_cast<uint64_t>(w)) * CS_DIGEST_STEP);
    }
};

enum cs_status launch_digest(const struct cs_gpu_digest *job) {
    return by_width(job->walk.bits, [&](auto unit) {
        return by_index(job->walk.n, [&](auto index) {
            typedef digest_body<decltype(unit), decltype(index)> body;
            return launch_reduction<body, decltype(index)>("digest", static_cast<int64_t>(job->n_bytes), body{*job}, job->n_words / body::words);
        });
    });
}

/* ---- several at once ---- */

struct dense_digest {
    const unsigned char *from;
    struct cs_gpu_tally *tally;
    uint32_t n, first_block; /* pairs of words */
};

struct dense_body {
    struct dense_digest job;

    HD u128 load(uint32_t i) const { return access<u128>::load(job.from, i); }
    HD void add(struct cs_gpu_tally &tally, uint32_t i, const u128 &pair) const {
        const uint64_t first = static_cast<uint64_t>(i) * 2;
        for (int w = 0; w < 2; w++) tally.sum += mix(pair.word[w] + (first + static_cast<uint64_t>(w)) * CS_DIGEST_STEP);
    }
};

struct digests_kernel {
    static constexpr int most = 32, n_resident = 1;
    typedef reduction<dense_body, uint32_t> one;
    typedef one::state state;
    int n;
    struct dense_digest digest[most];

    HD int n_phases(const place &at) const { return one{}.n_phases(at); }
    HD void run(int phase, const place &at, unsigned char *shared, state &s) const {
        int d = 0;
        while (d + 1 < n && at.block >= digest[d + 1].first_block) d++;
        const int64_t first = digest[d].first_block, end = d + 1 < n ? digest[d + 1].first_block : at.n_blocks;
        one{dense_body{digest[d]}, digest[d].n}.run(phase, place{at.block - first, end - first, at.thread}, shared, s);
    }

    enum cs_status launch_all() {
        const size_t shared_bytes = THREADS * sizeof(struct cs_gpu_tally);
        int64_t n_tiles = 0, n_blocks = 0;
        for (int d = 0; d < n; d++) n_tiles += tiles_of(digest[d].n);
        const int64_t resident = resident_grid_of<digests_kernel>(n_tiles, shared_bytes);
        for (int d = 0; d < n; d++) {
            const int64_t share = tiles_of(digest[d].n) * resident / n_tiles;
            digest[d].first_block = static_cast<uint32_t>(n_blocks);
            n_blocks += share > 0 ? share : 1;
        }
        return launch("digest", n_tiles * CS_GPU_TILE * 16, *this, n_blocks, shared_bytes);
    }
};

inline bool is_dense(const struct cs_gpu_digest *job) {
    return job->walk.bits == 128 && cs_gpu_walk_is_dense(&job->walk, 1) && !cs_gpu_is_wide(job->walk.n);
}

enum cs_status launch_digests(const struct cs_gpu_digest *jobs, size_t n) {
    digests_kernel dense = {};
    for (size_t i = 0; i < n; i++) {
        const struct cs_gpu_digest *job = &jobs[i];
        if (job->n_words == 0) continue;
        if (!is_dense(job)) {
            CS_TRY(launch_digest(job));
            continue;
        }
        dense.digest[dense.n++] = {job->from + job->walk.start[0] * 16, job->tally, static_cast<uint32_t>(job->walk.n), 0};
        if (dense.n < digests_kernel::most) continue;
        CS_TRY(dense.launch_all());
        dense.n = 0;
    }
    return dense.n ? dense.launch_all() : CS_OK;
}

/* The last node of a graph: what it adds up becomes results. */
struct finish_body {
    struct cs_gpu_finish job;
    HD uint32_t load(uint32_t i) const { return i; }
    HD void store(uint32_t i) const { job.results[i] = job.tallies[i].sum + mix(job.n_bytes[i]); }
};

enum cs_status launch_finish(const struct cs_gpu_graph *graph) {
    struct cs_gpu_finish job = {graph->tallies, graph->n_bytes, graph->results, static_cast<int64_t>(graph->n)};
    return launch_each<finish_body, uint32_t>("finishing a graph", job.n * 8, finish_body{job}, job.n);
}

/* What a replay does: poisons the results, then reads every captured address. */
enum cs_status run_graph(const struct cs_gpu_graph *graph, enum cs_status (*set)(void *data, int byte, size_t bytes)) {
    CS_TRY(set(graph->results, 0xA5, graph->n * sizeof *graph->results));
    CS_TRY(set(graph->tallies, 0, graph->n * sizeof *graph->tallies));
    CS_TRY(launch_digests(graph->digests, graph->n));
    return launch_finish(graph);
}

} // namespace

#endif
