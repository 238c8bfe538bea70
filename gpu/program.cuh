/* Programs: element-wise arithmetic, one instruction after the other. Reads each operand once where it is not a block's,
 * writes the result; limit: instructions, as what one is, and where operands lie, is found out while it runs. Those that
 * methods run over whole weights are compiled instead (known.cuh).
 *
 * A thread has a group of elements along the innermost dimension in registers, and each instruction runs over all of them
 * before the next one does: what an instruction is, and where operands lie, is found out once a group. */
#ifndef CS_GPU_PROGRAM_CUH
#define CS_GPU_PROGRAM_CUH

#include "gpu/arithmetic.cuh"

namespace {

HD uint64_t load_bits(const struct cs_gpu_place &place, int64_t at) {
    switch (place.bits) {
    case 4: return access<nibble>::load(place.data, at);
    case 8: return access<uint8_t>::load(place.data, at);
    case 16: return access<uint16_t>::load(place.data, at);
    case 32: return access<uint32_t>::load(place.data, at);
    default: return access<uint64_t>::load(place.data, at);
    }
}

/* ---- groups ---- */

enum { GROUP = CS_GPU_GROUP, INNER = CS_NDIM - 1 };

template <class F> HD void each_of_group(const F &f) { each_of<GROUP>(f); }

HD void numbers_of_group(enum cs_dtype dtype, const uint64_t (&bits)[GROUP], uint32_t (&x)[GROUP]) {
    switch (dtype) {
    case CS_F32:
    case CS_I32: return each_of_group([&](int k) { x[k] = static_cast<uint32_t>(bits[k]); });
    case CS_BF16: return each_of_group([&](int k) { x[k] = read_number(CS_BF16, bits[k]); });
    case CS_U8: return each_of_group([&](int k) { x[k] = read_number(CS_U8, bits[k]); });
    default: return each_of_group([&](int k) { x[k] = read_rare_number(dtype, bits[k]); });
    }
}

HD void narrow_group(enum cs_dtype dtype, const uint32_t (&x)[GROUP], uint64_t (&bits)[GROUP]) {
    switch (dtype) {
    case CS_F32:
    case CS_I32: return each_of_group([&](int k) { bits[k] = x[k]; });
    case CS_BF16: return each_of_group([&](int k) { bits[k] = narrowed(CS_BF16, x[k]); });
    case CS_E4M3: return each_of_group([&](int k) { bits[k] = narrowed(CS_E4M3, x[k]); });
    case CS_U8: return each_of_group([&](int k) { bits[k] = narrowed(CS_U8, x[k]); });
    default: return each_of_group([&](int k) { bits[k] = rare_narrowed(dtype, x[k]); });
    }
}

/* To the dtype and back, or only there. */
HD void round_group(enum cs_dtype dtype, uint32_t (&x)[GROUP], bool stays_there) {
    uint64_t bits[GROUP];
    narrow_group(dtype, x, bits);
    if (stays_there) return each_of_group([&](int k) { x[k] = static_cast<uint32_t>(bits[k]); });
    numbers_of_group(dtype, bits, x);
}

HD void step_group(enum cs_code code, uint32_t (&x)[GROUP], const uint32_t (&number)[GROUP]) {
    const auto v = [&](int k) { return number[k]; };
    switch (code) {
#define X(id, word, argument)                                                                                          \
    case CS_CODE_##id: return step_each<CS_CODE_##id, GROUP>(x, v);
        CS_CODES(X)
#undef X
    }
}

/* ---- groups in memory ---- */

/* Dimensions before `first` have one element. */
template <class I> struct index {
    I at[CS_NDIM];
};

/* f(d) for each dimension that counts, innermost first; unrolled, so that indices are registers. */
template <class F> HD void each_dimension(int first, const F &f) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int d = INNER; d >= 0; d--)
        if (d >= first) f(d);
}

template <class I> HD index<I> index_of(const struct cs_gpu_divisor *extent, int first, I i) {
    index<I> at = {};
    each_dimension(first, [&](int d) {
        if (d > first)
            at.at[d] = static_cast<I>(next_digit(i, extent[d]));
        else
            at.at[d] = i;
    });
    return at;
}

/* Index of group i: `extent` counts elements in all dimensions but the innermost, and groups there. */
template <class I> HD index<I> group_of(const struct cs_gpu_divisor *extent, int first, I i) {
    index<I> at = index_of(extent, first, i);
    at.at[INNER] *= GROUP;
    return at;
}

template <class I> HD int64_t block_of(const struct cs_gpu_place &place, int d, I i) {
    return static_cast<int64_t>(place.has_blocks ? quotient(i, place.block[d]) : i);
}

template <class I> HD int64_t position_of(const struct cs_gpu_place &place, const index<I> &i) {
    int64_t at = place.start;
    each_dimension(place.first, [&](int d) { at += block_of(place, d, i.at[d]) * place.stride[d]; });
    return at;
}

/* Whether a whole group lies densely from `at` on, where accesses of its width may begin: a group has as many bytes as
 * an element has bits. */
HD bool is_dense(const struct cs_gpu_place &place, int64_t at) {
    const int width = place.bits < 16 ? place.bits : 16;
    if (place.bits > 32 || place.stride[INNER] != 1 || (place.has_blocks && place.block[INNER].extent != 1)) return false;
    const uintptr_t byte = reinterpret_cast<uintptr_t>(place.data) + static_cast<uintptr_t>(at * place.bits / 8);
    return at * place.bits % 8 == 0 && byte % static_cast<uintptr_t>(width) == 0;
}

HD void load_dense(const struct cs_gpu_place &place, int64_t at, uint64_t (&bits)[GROUP]) {
    const unsigned char *from = place.data + at * place.bits / 8;
    uint64_t word[4] = {0, 0, 0, 0};
    if (place.bits == 4) {
        word[0] = access<uint32_t>::load(from, 0);
        return each_of_group([&](int k) { bits[k] = word[0] >> (4 * k) & 0xF; });
    }
    if (place.bits == 8) {
        word[0] = access<uint64_t>::load(from, 0);
        return each_of_group([&](int k) { bits[k] = word[0] >> (8 * k) & 0xFF; });
    }
    const u128 low = access<u128>::load(from, 0);
    word[0] = low.word[0], word[1] = low.word[1];
    if (place.bits == 16) return each_of_group([&](int k) { bits[k] = word[k / 4] >> (16 * (k % 4)) & 0xFFFF; });
    const u128 high = access<u128>::load(from, 1);
    word[2] = high.word[0], word[3] = high.word[1];
    each_of_group([&](int k) { bits[k] = word[k / 2] >> (32 * (k % 2)) & 0xFFFFFFFF; });
}

HD void store_dense(const struct cs_gpu_place &place, int64_t at, const uint64_t (&bits)[GROUP]) {
    unsigned char *to = place.data + at * place.bits / 8;
    uint64_t word[4] = {0, 0, 0, 0};
    if (place.bits == 4) {
        each_of_group([&](int k) { word[0] |= (bits[k] & 0xF) << (4 * k); });
        return access<uint32_t>::store(to, 0, static_cast<uint32_t>(word[0]));
    }
    if (place.bits == 8) {
        each_of_group([&](int k) { word[0] |= (bits[k] & 0xFF) << (8 * k); });
        return access<uint64_t>::store(to, 0, word[0]);
    }
    if (place.bits == 16) {
        each_of_group([&](int k) { word[k / 4] |= (bits[k] & 0xFFFF) << (16 * (k % 4)); });
        return access<u128>::store(to, 0, u128{{word[0], word[1]}});
    }
    each_of_group([&](int k) { word[k / 2] |= (bits[k] & 0xFFFFFFFF) << (32 * (k % 2)); });
    access<u128>::store(to, 0, u128{{word[0], word[1]}});
    access<u128>::store(to, 1, u128{{word[2], word[3]}});
}

/* The first n elements of the group at an index; the others are some of them. */
template <class I> HD void read_group(const struct cs_gpu_place &place, const index<I> &at, int n, uint32_t (&x)[GROUP]) {
    uint64_t bits[GROUP];
    const int64_t first = position_of(place, at), stride = place.stride[INNER], block = block_of(place, INNER, at.at[INNER]);
    if (n == 1 || block_of(place, INNER, static_cast<I>(at.at[INNER] + static_cast<I>(n) - 1)) == block || stride == 0) {
        const uint32_t number = read_rare_number(place.dtype, load_bits(place, first));
        return each_of_group([&](int k) { x[k] = number; });
    }
    if (n == GROUP && is_dense(place, first))
        load_dense(place, first, bits);
    else
        each_of_group([&](int k) {
            const I inner = at.at[INNER] + static_cast<I>(k < n ? k : n - 1);
            bits[k] = load_bits(place, first + (block_of(place, INNER, inner) - block) * stride);
        });
    numbers_of_group(place.dtype, bits, x);
}

template <class I> HD void write_group(const struct cs_gpu_place &place, const index<I> &at, int n, const uint32_t (&x)[GROUP]) {
    uint64_t bits[GROUP];
    const int64_t first = position_of(place, at);
    narrow_group(place.dtype, x, bits);
    if (n == GROUP && is_dense(place, first)) return store_dense(place, first, bits);
    each_of_group([&](int k) {
        if (k < n) store_bits(place.data, place.bits, first + k * place.stride[INNER], bits[k]);
    });
}

template <class I> HD void evaluate(const struct cs_gpu_program &program, const index<I> &at, int n, uint32_t (&x)[GROUP]) {
    each_of_group([&](int k) { x[k] = 0; });
    for (int i = 0; i < program.n_instructions; i++) {
        const struct cs_instruction &instruction = program.instruction[i];
        uint32_t v[GROUP];
        if (instruction.code == CS_CODE_ROUND || instruction.code == CS_CODE_ENCODE) {
            round_group(instruction.dtype, x, instruction.code == CS_CODE_ENCODE);
            continue;
        }
        if (instruction.operand >= 0)
            read_group(program.operand[instruction.operand], at, n, v);
        else
            each_of_group([&](int k) { v[k] = instruction.bits; });
        step_group(instruction.code, x, v);
    }
}

HD int at_most_a_group(int64_t n) { return n < GROUP ? static_cast<int>(n) : static_cast<int>(GROUP); }

/* ---- all elements ---- */

template <class I> struct map_kernel {
    struct cs_gpu_map job;
    static constexpr int n_resident = 4; /* at 64 registers each */
    struct state {};

    HD int n_phases(const place &) const { return 1; }
    HD void run(int, const place &at, unsigned char *, state &) const {
        const int64_t step = THREADS * at.n_blocks;
        for (int64_t i = at.block * THREADS + at.thread; i < job.n_groups; i += step) {
            uint32_t x[GROUP];
            const index<I> first = group_of(job.groups, job.to.first, static_cast<I>(i));
            const int n = at_most_a_group(job.columns - static_cast<int64_t>(first.at[INNER]));
            evaluate(job.program, first, n, x);
            write_group(job.to, first, n, x);
        }
    }
};

enum cs_status launch_map(const struct cs_gpu_map *job) {
    return by_index(job->n_groups * GROUP, [&](auto i) {
        const int64_t n_blocks = job->n_groups / THREADS + (job->n_groups % THREADS != 0);
        return launch("arithmetic", job->n_groups * job->to.bits, map_kernel<decltype(i)>{*job}, grid_of(n_blocks), 0);
    });
}

} // namespace

#endif
