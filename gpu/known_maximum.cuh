/* Maxima of known programs. Reads each operand once; limit: memory, and instructions.
 *
 * A box has a number of lanes, each of which takes group after group of it. A lane's best group is a key of 64 bits: above,
 * the largest number, as bits that are ordered as numbers are; below, which group has it. The largest key of a box is its
 * result, but where order decides: the first NaN is kept, and of zeros the last. Then its group is computed again. */
#ifndef CS_GPU_KNOWN_MAXIMUM_CUH
#define CS_GPU_KNOWN_MAXIMUM_CUH

#include "gpu/known.cuh"

namespace {

template <class Row, int dims> struct known_maximum_kernel {
    struct cs_gpu_known_maximum job;
    static constexpr int n_resident = 4, fan_in = 16;
    static constexpr int under_way = 16 / words_of(Row::program.operand[0]); /* groups that a lane loads before it looks at the first */
    static constexpr bool has_sizes = Row::program.instruction[Row::program.n_instructions - 1].code == CS_CODE_ABSOLUTE;
    static constexpr uint32_t no_number = 0xFFFFFFFF, zero = has_sizes ? 0 : 0x80000000; /* keys */
    struct state {};

    /* Whether group j of a box exists, and where it is. */
    HD bool find(const known_index<dims> &box, uint32_t j, known_index<dims> &i) const {
        const known_index<dims> inside = known_index_of<dims>(job.groups, j);
        bool exists = true;
        each_of<dims>([&](int d) {
            i.at[d] = box.at[d] * job.block[d] + inside.at[d];
            exists = exists && i.at[d] < job.shape[d];
        });
        return exists;
    }

    /* Sizes are ordered as their bits are; of other numbers, negative ones turn around. */
    HD static uint32_t ordered(uint32_t bits) {
        if (has_sizes) return bits;
        return bits >> 31 ? ~bits : bits | 0x80000000;
    }
    HD static uint32_t bits_of_ordered(uint32_t key) {
        if (has_sizes) return key;
        return key >> 31 ? key & 0x7FFFFFFF : ~key;
    }

    HD uint64_t key_of_group(const known_group<Row> &group, uint32_t j) const {
        uint32_t x[KNOWN], most = 0;
        bool has_nan = false;
        if (!evaluate_ordinary<Row>(job.program, group, x)) evaluate_exactly<Row>(job.program, group, x);
        each_of<KNOWN>([&](int k) {
            const uint32_t key = ordered(x[k]);
            most = key > most ? key : most;
            if (!has_sizes) has_nan |= is_nan(x[k]);
        });
        if (has_sizes) has_nan = is_nan(most);
        if (has_nan) return joined(~j, no_number);
        return joined(j, !has_sizes && most == zero - 1 ? zero : most); /* zeros of both signs are equal */
    }

    HD uint64_t key_of_lane(uint32_t box, uint32_t lane) const {
        const known_index<dims> corner = known_index_of<dims>(job.extent, box);
        uint64_t most = 0;
        for (uint32_t first = lane; first < job.n_groups; first += under_way * job.lanes) {
            known_group<Row> group[under_way];
            bool exists[under_way];
            each_of<under_way>([&](int k) {
                known_index<dims> i;
                const uint32_t j = first + static_cast<uint32_t>(k) * job.lanes;
                exists[k] = j < job.n_groups && find(corner, j, i);
                if (exists[k]) group[k] = load_known<Row>(job.program, i);
            });
            each_of<under_way>([&](int k) {
                const uint64_t key = exists[k] ? key_of_group(group[k], first + static_cast<uint32_t>(k) * job.lanes) : 0;
                most = key > most ? key : most;
            });
        }
        return most;
    }

    HD uint32_t in_order(const known_index<dims> &box, uint32_t j) const {
        known_index<dims> i;
        uint32_t x[KNOWN], most;
        find(box, j, i);
        evaluate_exactly<Row>(job.program, load_known<Row>(job.program, i), x);
        most = x[0];
        each_of<KNOWN>([&](int k) { most = k == 0 || stays_largest(most, x[k]) ? most : x[k]; });
        return most;
    }

    HD void finish(uint32_t box, uint64_t key) const {
        const known_index<dims> corner = known_index_of<dims>(job.extent, box);
        const uint32_t number = static_cast<uint32_t>(key >> 32), group = static_cast<uint32_t>(key);
        uint32_t bits = bits_of_ordered(number);
        if (number == no_number)
            bits = in_order(corner, ~group);
        else if (!has_sizes && number == zero)
            bits = in_order(corner, group);
        int64_t to = job.start;
        each_of<dims>([&](int d) { to += static_cast<int64_t>(corner.at[d]) * job.stride[d]; });
        store_result(job.to, job.to_dtype, to, bits);
    }

    HD static uint64_t largest_of(const uint64_t *keys, uint32_t n, uint32_t step) {
        uint64_t most = keys[0];
        for (uint32_t k = 1; k < n; k++) most = keys[k * step] > most ? keys[k * step] : most;
        return most;
    }

    /* Of many lanes, some gather first; at last, the first one does. */
    HD uint32_t n_gathering() const { return job.lanes > fan_in ? job.lanes / fan_in : 1; }
    HD int n_phases(const place &) const { return job.lanes == 1 ? 1 : job.lanes <= fan_in ? 2 : 3; }
    HD void run(int phase, const place &at, unsigned char *shared, state &) const {
        uint64_t *keys = reinterpret_cast<uint64_t *>(shared) + at.thread;
        const uint32_t lane = at.thread % job.lanes, gathering = n_gathering();
        const int64_t box = at.block * (THREADS / job.lanes) + at.thread / job.lanes;
        if (box >= job.n || (phase > 0 && lane >= gathering)) return;
        const bool is_last = phase == 2 || job.lanes == 1 || (phase == 1 && gathering == 1);
        const uint64_t key = phase == 0   ? key_of_lane(static_cast<uint32_t>(box), lane)
                             : phase == 1 ? largest_of(keys, job.lanes / gathering, gathering)
                             : lane == 0  ? largest_of(keys, gathering, 1)
                                          : 0;
        if (!is_last)
            *keys = key;
        else if (lane == 0)
            finish(static_cast<uint32_t>(box), key);
    }
};

template <class Row, int dims> enum cs_status launch_known_maximum_of(const struct cs_gpu_known_maximum *job) {
    const int64_t in_block = THREADS / job->lanes, n_blocks = (job->n + in_block - 1) / in_block;
    return launch("maximum", static_cast<int64_t>(job->n) * width_in_bits(CS_F32) / 8, known_maximum_kernel<Row, dims>{*job}, n_blocks,
                  THREADS * sizeof(uint64_t));
}

template <class Row> enum cs_status launch_known_maximum_row(const struct cs_gpu_known_maximum *job) {
    return job->program.ndim == 1 ? launch_known_maximum_of<Row, 1>(job) : launch_known_maximum_of<Row, DIMS>(job);
}

enum cs_status launch_known_maximum(const struct cs_gpu_known_maximum *job) {
    switch (job->id) {
#define X(id, to, operands, text)                                                                                      \
    case CS_GPU_MAXIMUM_##id: return launch_known_maximum_row<known_maximum_row<CS_GPU_MAXIMUM_##id>>(job);
        CS_GPU_KNOWN_MAXIMA(X)
#undef X
    default: return cs_fail(CS_INTERNAL, "program %d is not known", static_cast<int>(job->id));
    }
}

} // namespace

#endif
