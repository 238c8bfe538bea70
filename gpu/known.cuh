/* Known programs (known.h): the interpreter's arithmetic, with each row's instructions and dtypes as constants, so that all
 * that the interpreter asks is settled when a kernel is compiled. Reads each operand once where it is not a block's, writes
 * the result; limit: memory, and instructions where a program has many.
 *
 * A thread has a group of 16 elements in registers: 16-byte loads and stores, positions by one multiplication for each
 * dimension, and one load of each number that the group shares. */
#ifndef CS_GPU_KNOWN_CUH
#define CS_GPU_KNOWN_CUH

#include "gpu/arithmetic.cuh"
#include "gpu/known_parse.h"

namespace {

enum { KNOWN = CS_GPU_KNOWN_GROUP, DIMS = CS_GPU_KNOWN_DIMS };

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

HD constexpr int known_bits(enum cs_dtype dtype) {
#define X(id, name, safetensors, bits, floating)                                                                       \
    if (dtype == CS_##id) return bits;
    CS_DTYPES(X)
#undef X
    return 0;
}
template <int bits> struct unsigned_of;
template <> struct unsigned_of<8> { typedef uint8_t type; };
template <> struct unsigned_of<16> { typedef uint16_t type; };
template <> struct unsigned_of<32> { typedef uint32_t type; };

/* ---- groups in memory: words of 32 bits, the first element in the lowest bits ---- */

template <int words> HD void load_words(const unsigned char *from, uint32_t (&word)[words]) {
    if constexpr (words == 2) {
        const uint64_t both = access<uint64_t>::load(from, 0);
        word[0] = static_cast<uint32_t>(both), word[1] = static_cast<uint32_t>(both >> 32);
    } else
        each_of<words / 4>([&](int i) {
            const u128 unit = access<u128>::load(from, i);
            word[4 * i] = static_cast<uint32_t>(unit.word[0]), word[4 * i + 1] = static_cast<uint32_t>(unit.word[0] >> 32);
            word[4 * i + 2] = static_cast<uint32_t>(unit.word[1]), word[4 * i + 3] = static_cast<uint32_t>(unit.word[1] >> 32);
        });
}

HD uint64_t joined(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }

template <int words> HD void store_words(unsigned char *to, const uint32_t (&word)[words]) {
    if constexpr (words == 2)
        access<uint64_t>::store(to, 0, joined(word[0], word[1]));
    else
        each_of<words / 4>([&](int i) {
            access<u128>::store(to, i, u128{{joined(word[4 * i], word[4 * i + 1]), joined(word[4 * i + 2], word[4 * i + 3])}});
        });
}

template <enum cs_dtype dtype> HD void numbers_of_words(const uint32_t (&word)[KNOWN * known_bits(dtype) / 32], uint32_t (&x)[KNOWN]) {
    constexpr int bits = known_bits(dtype), in_word = 32 / bits;
    constexpr uint32_t mask = bits == 32 ? ~UINT32_C(0) : (UINT32_C(1) << (bits % 32)) - 1;
    each_of<KNOWN>([&](int k) { x[k] = read_number(dtype, word[k / in_word] >> (k % in_word * bits) & mask); });
}

/* Two numbers as e4m3, the first in the lower byte. The machine's conversion has our rounding and our largest number, but
 * its NaN has no sign. */
HD uint32_t pair_of_e4m3(uint32_t first, uint32_t second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16_t pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(f32_of_bits(second)), "f"(f32_of_bits(first)));
    return pair | (first >> 24 & 0x80) | (second >> 16 & 0x8000);
#else
    return static_cast<uint32_t>(narrowed(CS_E4M3, first) | narrowed(CS_E4M3, second) << 8);
#endif
}

template <enum cs_dtype dtype> HD void words_of_numbers(const uint32_t (&x)[KNOWN], uint32_t (&word)[KNOWN * known_bits(dtype) / 32]) {
    constexpr int bits = known_bits(dtype), in_word = 32 / bits, words = KNOWN / in_word;
    constexpr uint32_t mask = bits == 32 ? ~UINT32_C(0) : (UINT32_C(1) << (bits % 32)) - 1;
    each_of<words>([&](int i) { word[i] = 0; });
    if constexpr (dtype == CS_E4M3)
        each_of<KNOWN / 2>([&](int k) { word[k / 2] |= pair_of_e4m3(x[2 * k], x[2 * k + 1]) << (k % 2 * 16); });
    else
        each_of<KNOWN>([&](int k) { word[k / in_word] |= (static_cast<uint32_t>(narrowed(dtype, x[k])) & mask) << (k % in_word * bits); });
}

/* ---- positions ---- */

/* Of a group, or a box: innermost first. */
struct known_index {
    uint32_t at[DIMS];
};

/* f(d) for each dimension; unrolled, so that indices are registers. */
template <class F> HD void each_known_dimension(int ndim, const F &f) {
    each_of<DIMS>([&](int d) {
        if (d < ndim) f(d);
    });
}

HD known_index known_index_of(const struct cs_gpu_divisor *extent, int ndim, uint32_t i) {
    known_index at = {};
    each_known_dimension(ndim, [&](int d) {
        if (d + 1 < ndim)
            at.at[d] = static_cast<uint32_t>(next_digit(i, extent[d]));
        else
            at.at[d] = i;
    });
    return at;
}

/* In elements. */
HD int64_t known_position(const struct cs_gpu_known_place &place, int ndim, const known_index &i) {
    int64_t at = place.start;
    each_known_dimension(ndim, [&](int d) {
        at += static_cast<int64_t>(place.has_blocks ? quotient(i.at[d], place.block[d]) : i.at[d]) * place.stride[d];
    });
    return at;
}

template <enum cs_dtype dtype> HD const unsigned char *known_bytes(const struct cs_gpu_known_place &place, int ndim, const known_index &i) {
    return place.data + known_position(place, ndim, i) * known_bits(dtype) / 8;
}

/* ---- one group ---- */

/* The elements of a, and the number that stands for each of the others. */
struct known_numbers {
    uint32_t a[KNOWN], spread[CS_GPU_KNOWN_OPERANDS];
};

template <class Row, int operand> HD void load_spread(const struct cs_gpu_known &job, const known_index &i, known_numbers &numbers) {
    if constexpr (operand < Row::program.n_operands) {
        constexpr enum cs_dtype dtype = Row::program.operand[operand];
        typedef typename unsigned_of<known_bits(dtype)>::type bits;
        numbers.spread[operand] = read_number(dtype, access<bits>::load(known_bytes<dtype>(job.operand[operand], job.ndim, i), 0));
        load_spread<Row, operand + 1>(job, i, numbers);
    }
}

template <class Row> HD known_numbers load_known(const struct cs_gpu_known &job, const known_index &i) {
    constexpr enum cs_dtype dtype = Row::program.operand[0];
    known_numbers numbers = {};
    uint32_t word[KNOWN * known_bits(dtype) / 32];
    load_words(known_bytes<dtype>(job.operand[0], job.ndim, i), word);
    load_spread<Row, 1>(job, i, numbers);
    numbers_of_words<dtype>(word, numbers.a);
    return numbers;
}

/* e4m3's numbers are among f16's, and its NaNs too: rounding what was just loaded changes nothing. */
HD constexpr bool keeps_all(const struct cs_gpu_known_program &program, int i) {
    return i == 1 && program.instruction[0].operand == 0 && program.operand[0] == CS_E4M3 && program.instruction[1].dtype == CS_F16;
}

template <class Row, int i> HD void known_steps(const struct cs_gpu_known &job, const known_numbers &numbers, uint32_t (&x)[KNOWN]) {
    if constexpr (i < Row::program.n_instructions) {
        constexpr enum cs_code code = Row::program.instruction[i].code;
        constexpr int operand = Row::program.instruction[i].operand;
        if constexpr (code == CS_CODE_ROUND) {
            constexpr enum cs_dtype dtype = Row::program.instruction[i].dtype;
            if constexpr (!keeps_all(Row::program, i)) each_of<KNOWN>([&](int k) { x[k] = rounded_to(dtype, x[k]); });
        } else if constexpr (operand == 0)
            step_each<code, KNOWN>(x, [&](int k) { return numbers.a[k]; });
        else if constexpr (operand > 0)
            step_each<code, KNOWN>(x, [&](int) { return numbers.spread[operand]; });
        else
            step_each<code, KNOWN>(x, [&](int) { return job.number[i]; });
        known_steps<Row, i + 1>(job, numbers, x);
    }
}

template <class Row> HD void evaluate_known(const struct cs_gpu_known &job, const known_index &i, uint32_t (&x)[KNOWN]) {
    const known_numbers numbers = load_known<Row>(job, i);
    known_steps<Row, 0>(job, numbers, x);
}

/* ---- all elements ---- */

template <class Row> struct known_map_kernel {
    struct cs_gpu_known_map job;
    static constexpr int n_resident = 4; /* at 64 registers each */
    struct state {};

    HD int n_phases(const place &) const { return 1; }
    HD void run(int, const place &at, unsigned char *, state &) const {
        constexpr enum cs_dtype dtype = Row::program.to;
        const int64_t step = THREADS * at.n_blocks;
        for (int64_t group = at.block * THREADS + at.thread; group < job.n_groups; group += step) {
            const known_index i = known_index_of(job.extent, job.program.ndim, static_cast<uint32_t>(group));
            uint32_t x[KNOWN], word[KNOWN * known_bits(dtype) / 32];
            evaluate_known<Row>(job.program, i, x);
            words_of_numbers<dtype>(x, word);
            store_words(job.to.data + known_position(job.to, job.program.ndim, i) * known_bits(dtype) / 8, word);
        }
    }
};

template <class Row> enum cs_status launch_known_map_of(const struct cs_gpu_known_map *job) {
    const int64_t n_blocks = (static_cast<int64_t>(job->n_groups) + THREADS - 1) / THREADS;
    const int64_t bytes = static_cast<int64_t>(job->n_groups) * KNOWN * known_bits(Row::program.to) / 8;
    return launch("arithmetic", bytes, known_map_kernel<Row>{*job}, grid_of(n_blocks), 0);
}

enum cs_status launch_known_map(const struct cs_gpu_known_map *job) {
    switch (job->id) {
#define X(id, to, operands, text)                                                                                      \
    case CS_GPU_MAP_##id: return launch_known_map_of<known_map_row<CS_GPU_MAP_##id>>(job);
        CS_GPU_KNOWN_MAPS(X)
#undef X
    default: return cs_fail(CS_INTERNAL, "program %d is not known", static_cast<int>(job->id));
    }
}

} // namespace

#endif
