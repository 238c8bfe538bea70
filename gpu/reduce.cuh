/* Reductions: every thread adds up a tally of its own over the grid's stride, a block adds the tallies of its threads in
 * shared memory, and ends in three atomics. Sums, maxima and counts do not care about order. */
#ifndef CS_GPU_REDUCE_CUH
#define CS_GPU_REDUCE_CUH

#include "gpu/units.cuh"

namespace {

HD void add_tally(struct cs_gpu_tally &to, const struct cs_gpu_tally &from) {
    to.n += from.n;
    to.last = to.last > from.last ? to.last : from.last;
    to.sum += from.sum;
}

/* Body has load(i), and add(tally, i, what load returned). */
template <class Body, class I> struct reduction {
    Body body;
    I n;
    static constexpr int halvings = 8, n_resident = 1;
    struct state {};
    static_assert(1 << halvings == THREADS, "a block halves down to one thread");

    HD struct cs_gpu_tally tally_of(const place &at) const {
        struct cs_gpu_tally tally = {0, 0, 0};
        const I tile = THREADS * UNROLL, step = tile * static_cast<I>(at.n_blocks);
        for (I first = tile * static_cast<I>(at.block) + at.thread; first < n; first += step) {
            decltype(body.load(first)) loaded[UNROLL];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
            for (I k = 0; k < UNROLL; k++)
                if (first + k * THREADS < n) loaded[k] = body.load(first + k * THREADS);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
            for (I k = 0; k < UNROLL; k++)
                if (first + k * THREADS < n) body.add(tally, first + k * THREADS, loaded[k]);
        }
        return tally;
    }

    HD int n_phases(const place &) const { return 1 + halvings + 1; }
    HD void run(int phase, const place &at, unsigned char *shared, state &) const {
        struct cs_gpu_tally *tallies = reinterpret_cast<struct cs_gpu_tally *>(shared);
        const uint32_t other = phase > 0 && phase <= halvings ? THREADS >> phase : 0;
        if (phase == 0)
            tallies[at.thread] = tally_of(at);
        else if (at.thread < other)
            add_tally(tallies[at.thread], tallies[at.thread + other]);
        else if (phase > halvings && at.thread == 0)
            finish(tallies[0]);
    }

    HD void finish(const struct cs_gpu_tally &tally) const {
        struct cs_gpu_tally *result = body.job.tally;
        if (tally.n) atomic_add(&result->n, tally.n);
        if (tally.last) atomic_max(&result->last, tally.last);
        if (tally.sum) atomic_add(&result->sum, tally.sum);
    }
};

template <class Body, class I> enum cs_status launch_reduction(const char *what, int64_t bytes, const Body &body, int64_t n) {
    const reduction<Body, I> k = {body, static_cast<I>(n)};
    const size_t shared_bytes = THREADS * sizeof(struct cs_gpu_tally);
    return launch(what, bytes, k, resident_grid_of<reduction<Body, I>>(tiles_of(n), shared_bytes), shared_bytes);
}

} // namespace

#endif
