/* Known programs (known.h): the interpreter's arithmetic, with each row's instructions and dtypes as constants, so that all
 * that the interpreter asks is settled when a kernel is compiled. Reads each operand once where it is not a block's, writes
 * the result; limit: memory, and instructions where a program has many.
 *
 * A thread has a group of 16 elements in registers: 16-byte loads and stores, positions by one multiplication for each
 * dimension, and one load of each number that the group shares. Groups of ordinary numbers take a shorter way. */
#ifndef CS_GPU_KNOWN_CUH
#define CS_GPU_KNOWN_CUH

#include "gpu/known_parse.h"
#include "gpu/ordinary.cuh"

namespace {

enum { DIMS = CS_GPU_KNOWN_DIMS };

/* ---- rows ---- */

template <int id> struct known_map_row;
template <int id> struct known_maximum_row;
#define ROW(kind, prefix, id, to, operands, text)                                                                      \
    template <> struct kind<prefix##id> {                                                                              \
        static constexpr struct cs_gpu_known_program program = known_program(to, operands, text);                      \
        static_assert(program.n_instructions > 0 && program.n_operands <= CS_GPU_KNOWN_OPERANDS, text);                \
    };
#define X(id, to, operands, text) ROW(known_map_row, CS_GPU_MAP_, id, to, operands, text)
CS_GPU_KNOWN_MAPS(X)
#undef X
#define X(id, to, operands, text) ROW(known_maximum_row, CS_GPU_MAXIMUM_, id, to, operands, text)
CS_GPU_KNOWN_MAXIMA(X)
#undef X
#undef ROW

/* ---- positions ---- */

/* Of a group, or a box, in one dimension or in three, some of which may have one element: innermost first. */
template <int dims> struct known_index {
    uint32_t at[dims];
};

template <int dims> HD known_index<dims> known_index_of(const struct cs_gpu_divisor *extent, uint32_t i) {
    known_index<dims> at;
    each_of<dims - 1>([&](int d) { at.at[d] = static_cast<uint32_t>(next_digit(i, extent[d])); });
    at.at[dims - 1] = i;
    return at;
}

/* In elements: of a group of a, or of the result. */
template <int dims> HD int64_t dense_position(const struct cs_gpu_known_place &place, const known_index<dims> &i) {
    int64_t at = place.start + static_cast<int64_t>(i.at[0]) * KNOWN;
    each_of<dims - 1>([&](int d) { at += static_cast<int64_t>(i.at[d + 1]) * place.stride[d + 1]; });
    return at;
}

/* Of a number that a group shares. */
template <int dims> HD int64_t spread_position(const struct cs_gpu_known_place &place, const known_index<dims> &i) {
    int64_t at = place.start;
    each_of<dims>([&](int d) { at += static_cast<int64_t>(quotient(i.at[d], place.block[d])) * place.stride[d]; });
    return at;
}

/* ---- one group ---- */

/* The elements of a, as they lie, and the number that stands for each of the others. */
template <class Row> struct known_group {
    uint32_t a[words_of(Row::program.operand[0])], spread[CS_GPU_KNOWN_OPERANDS];
};

template <class Row, int operand, int dims>
HD void load_spread(const struct cs_gpu_known &job, const known_index<dims> &i, known_group<Row> &group) {
    if constexpr (operand < Row::program.n_operands) {
        constexpr enum cs_dtype dtype = Row::program.operand[operand];
        typedef typename unsigned_of<width_in_bits(dtype)>::type bits;
        const struct cs_gpu_known_place &place = job.operand[operand];
        group.spread[operand] = read_number(dtype, access<bits>::load(place.data, spread_position(place, i)));
        load_spread<Row, operand + 1>(job, i, group);
    }
}

template <class Row, int dims> HD known_group<Row> load_known(const struct cs_gpu_known &job, const known_index<dims> &i) {
    known_group<Row> group = {};
    load_words(job.operand[0].data + dense_position(job.operand[0], i) * width_in_bits(Row::program.operand[0]) / 8, group.a);
    load_spread<Row, 1>(job, i, group);
    return group;
}

/* What instruction i reads beside x: no element of a. */
template <class Row, int i> HD uint32_t other_number(const struct cs_gpu_known &job, const known_group<Row> &group) {
    constexpr int operand = Row::program.instruction[i].operand;
    if constexpr (operand > 0) return group.spread[operand];
    return job.number[i];
}

template <class Row, int i> HD void exact_steps(const struct cs_gpu_known &job, const known_group<Row> &group, const uint32_t (&a)[KNOWN], uint32_t (&x)[KNOWN]) {
    if constexpr (i < Row::program.n_instructions) {
        constexpr enum cs_code code = Row::program.instruction[i].code;
        if constexpr (code == CS_CODE_ROUND)
            each_of<KNOWN>([&](int k) { x[k] = rounded_to(Row::program.instruction[i].dtype, x[k]); });
        else if constexpr (code == CS_CODE_ENCODE)
            each_of<KNOWN>([&](int k) { x[k] = static_cast<uint32_t>(narrowed(Row::program.instruction[i].dtype, x[k])); });
        else if constexpr (Row::program.instruction[i].operand == 0)
            step_each<code, KNOWN>(x, [&](int k) { return a[k]; });
        else {
            const uint32_t v = other_number<Row, i>(job, group);
            step_each<code, KNOWN>(x, [&](int) { return v; });
        }
        exact_steps<Row, i + 1>(job, group, a, x);
    }
}

template <class Row> HD void evaluate_exactly(const struct cs_gpu_known &job, const known_group<Row> &group, uint32_t (&x)[KNOWN]) {
    uint32_t a[KNOWN];
    numbers_of_words<Row::program.operand[0]>(group.a, a);
    exact_steps<Row, 0>(job, group, a, x);
}

/* e4m3's numbers are among f16's: rounding what was just loaded changes nothing. */
HD constexpr bool keeps_all(const struct cs_gpu_known_program &program, int i) {
    return i == 1 && program.operand[0] == CS_E4M3 && program.instruction[1].code == CS_CODE_ROUND && program.instruction[1].dtype == CS_F16;
}

template <class Row, int i> HD bool ordinary_steps(const struct cs_gpu_known &job, const known_group<Row> &group, uint32_t (&x)[KNOWN]) {
    if constexpr (i < Row::program.n_instructions) {
        bool is_ordinary = true;
        if constexpr (!keeps_all(Row::program, i)) is_ordinary = ordinary_step<Row, i>(x, other_number<Row, i>(job, group));
        return ordinary_steps<Row, i + 1>(job, group, x) && is_ordinary;
    }
    return true;
}

/* Whether x are the results; bits of those that are NaN mean nothing. */
template <class Row> HD bool evaluate_ordinary(const struct cs_gpu_known &job, const known_group<Row> &group, uint32_t (&x)[KNOWN]) {
    if constexpr (has_ordinary_way(Row::program)) {
        ordinary_numbers<Row::program.operand[0]>(group.a, x);
        return ordinary_steps<Row, 1>(job, group, x);
    }
    return false;
}

/* ---- all elements ---- */

template <class Row, int dims> struct known_map_kernel {
    struct cs_gpu_known_map job;
    static constexpr int n_resident = 4; /* at 64 registers each */
    struct state {};

    HD void compute(const known_group<Row> &operands, uint32_t (&word)[words_of(Row::program.to)]) const {
        constexpr enum cs_dtype dtype = Row::program.to;
        constexpr bool is_checked = has_looked_for_nan(Row::program);
        uint32_t x[KNOWN];
        if (evaluate_ordinary<Row>(job.program, operands, x) && (is_checked || has_no_nan(x))) return words_of_ordinary<dtype>(x, word);
        evaluate_exactly<Row>(job.program, operands, x);
        words_of_numbers<dtype>(x, word);
    }

    HD int n_phases(const place &) const { return 1; }
    HD void run(int, const place &at, unsigned char *, state &) const {
        const int64_t step = THREADS * at.n_blocks;
        for (int64_t group = at.block * THREADS + at.thread; group < job.n_groups; group += step) {
            const known_index<dims> i = known_index_of<dims>(job.extent, static_cast<uint32_t>(group));
            uint32_t word[words_of(Row::program.to)];
            compute(load_known<Row>(job.program, i), word);
            store_words(job.to.data + dense_position(job.to, i) * width_in_bits(Row::program.to) / 8, word);
        }
    }
};

template <class Row, int dims> enum cs_status launch_known_map_of(const struct cs_gpu_known_map *job) {
    const int64_t n_blocks = (static_cast<int64_t>(job->n_groups) + THREADS - 1) / THREADS;
    const int64_t bytes = static_cast<int64_t>(job->n_groups) * KNOWN * width_in_bits(Row::program.to) / 8;
    return launch("arithmetic", bytes, known_map_kernel<Row, dims>{*job}, grid_of(n_blocks), 0);
}

template <class Row> enum cs_status launch_known_map_row(const struct cs_gpu_known_map *job) {
    return job->program.ndim == 1 ? launch_known_map_of<Row, 1>(job) : launch_known_map_of<Row, DIMS>(job);
}

enum cs_status launch_known_map(const struct cs_gpu_known_map *job) {
    switch (job->id) {
#define X(id, to, operands, text)                                                                                      \
    case CS_GPU_MAP_##id: return launch_known_map_row<known_map_row<CS_GPU_MAP_##id>>(job);
        CS_GPU_KNOWN_MAPS(X)
#undef X
    default: return cs_fail(CS_INTERNAL, "program %d is not known", static_cast<int>(job->id));
    }
}

} // namespace

#endif
