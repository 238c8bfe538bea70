/* Digest: the sum of mixed words. Reads each byte once; limit: read bandwidth where words lie together (a mix takes some
 * 30 instructions for 8 bytes), loads where rows are no whole words and words are put together from smaller units. */
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
    for (size_t i = 0; i < graph->n; i++)
        if (graph->digests[i].n_words > 0) CS_TRY(launch_digest(&graph->digests[i]));
    return launch_finish(graph);
}

} // namespace

#endif
