/* The largest result of a program over each box of elements. Reads each operand once; limit: as of programs, and for small
 * boxes what the lanes that share one tell each other.
 *
 * Which of several NaNs, or of zeros of both signs, is kept depends on their order. Results without a sign have no such
 * zeros, and are compared as bits; NaNs among them are looked for again, in order. Large boxes are cut into parts
 * (program.c), so that many blocks share them. */
#ifndef CS_GPU_MAXIMUM_CUH
#define CS_GPU_MAXIMUM_CUH

#include "gpu/program.cuh"

namespace {

/* The largest of some elements of a box, and which it is: order decides between NaNs (the first) and between zeros (the last). */
struct largest {
    uint32_t bits;
    bool exists;
    int64_t at;
};

HD largest larger(const largest &a, const largest &b) {
    if (!a.exists || !b.exists) return a.exists ? a : b;
    const bool is_first = a.at < b.at;
    return stays_largest((is_first ? a : b).bits, (is_first ? b : a).bits) == is_first ? a : b;
}

/* Lanes of a block share a box; each takes group after group of it. */
template <class I> struct maximum_kernel {
    struct cs_gpu_maximum job;
    static constexpr int n_resident = 3; /* at 80 registers each */
    struct state {};

    /* Group j of the box of element `corner`, and how many of its elements exist. */
    HD index<I> group_in_box(const index<I> &corner, I j, int &n) const {
        index<I> at = group_of(job.groups, job.to.first, j);
        int64_t columns = job.columns - static_cast<int64_t>(at.at[INNER]);
        each_dimension(job.to.first, [&](int d) {
            at.at[d] += corner.at[d] * static_cast<I>(job.block[d]);
            const int64_t left = job.shape[d] - static_cast<int64_t>(at.at[d]);
            if (left < 1 || (d == INNER && left < columns)) columns = left;
        });
        n = columns < 1 ? 0 : at_most_a_group(columns);
        return at;
    }

    HD largest of_group(const index<I> &at, int n, int64_t number) const {
        largest most = {0, false, 0};
        uint32_t x[GROUP];
        if (n < 1) return most;
        evaluate(job.program, at, n, x);
        most = largest{x[0], true, number * GROUP};
        each_of_group([&](int k) {
            if (k > 0 && k < n && !stays_largest(most.bits, x[k])) most = largest{x[k], true, number * GROUP + k};
        });
        return most;
    }

    HD largest in_order(const index<I> &corner, uint32_t lane) const {
        largest most = {0, false, 0};
        for (I j = lane; j < static_cast<I>(job.n_groups); j += job.lanes) {
            int n;
            const index<I> at = group_in_box(corner, j, n);
            most = larger(most, of_group(at, n, static_cast<int64_t>(j)));
        }
        return most;
    }

    /* Numbers without a sign are ordered as their bits are, NaN last; equal ones are the same bits, whichever comes first. */
    HD largest of_sizes(const index<I> &corner, uint32_t lane) const {
        uint32_t most = 0;
        bool exists = false;
        for (I j = lane; j < static_cast<I>(job.n_groups); j += job.lanes) {
            int n;
            uint32_t x[GROUP];
            const index<I> at = group_in_box(corner, j, n);
            if (n < 1) continue;
            evaluate(job.program, at, n, x);
            exists = true;
            each_of_group([&](int k) { most = k < n && x[k] > most ? x[k] : most; });
        }
        return is_nan(most) ? in_order(corner, lane) : largest{most, exists, 0};
    }

    HD largest of_lane(I element, uint32_t lane) const {
        const index<I> corner = index_of(job.extent, job.to.first, element);
        return job.has_sizes ? of_sizes(corner, lane) : in_order(corner, lane);
    }

    HD void finish(I element, uint32_t bits) const {
        store_result(job.to.data, job.to.dtype, position_of(job.to, index_of(job.extent, job.to.first, element)), bits);
    }

    HD int halvings() const {
        int n = 0;
        while (job.lanes >> n > 1) n++;
        return n;
    }

    HD int n_phases(const place &) const { return 1 + halvings() + 1; }
    HD void run(int phase, const place &at, unsigned char *shared, state &) const {
        largest *mosts = reinterpret_cast<largest *>(shared);
        const uint32_t lane = at.thread % job.lanes, other = phase > 0 ? job.lanes >> phase : 0;
        const int64_t element = at.block * (THREADS / job.lanes) + at.thread / job.lanes;
        if (element >= job.n) return;
        if (phase == 0)
            mosts[at.thread] = of_lane(static_cast<I>(element), lane);
        else if (lane < other)
            mosts[at.thread] = larger(mosts[at.thread], mosts[at.thread + other]);
        else if (phase > halvings() && lane == 0)
            finish(static_cast<I>(element), mosts[at.thread].bits);
    }
};

enum cs_status launch_maximum(const struct cs_gpu_maximum *job) {
    return by_index(job->n * job->n_groups * GROUP, [&](auto i) {
        const int64_t in_block = THREADS / job->lanes, n_blocks = job->n / in_block + (job->n % in_block != 0);
        return launch("maximum", job->n * job->to.bits / 8, maximum_kernel<decltype(i)>{*job}, n_blocks, THREADS * sizeof(largest));
    });
}

} // namespace

#endif
