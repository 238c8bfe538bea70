/* Relayout through shared memory, for short pieces of long source runs (tile.c says which digits make a tile). Moves each
 * byte twice; limit: for 4-byte pieces memory bandwidth, for bytes and nibbles the shared memory loads, one for each piece.
 *
 * Two phases: rows of the source into shared memory, in loads as wide as all rows allow; then destination units from
 * there. Loads past the end of the source are left out; the pieces that would read them are padding. */
#ifndef CS_GPU_TILE_CUH
#define CS_GPU_TILE_CUH

#include "gpu/relayout.cuh"

namespace {

/* Rows of shared memory begin at words, or double words where pieces are: wider units are stored in parts. */
HD void store_shared(unsigned char *shared, uint32_t byte, uint8_t unit) { shared[byte] = unit; }
HD void store_shared(unsigned char *shared, uint32_t byte, uint16_t unit) { access<uint16_t>::store(shared + byte, 0, unit); }
HD void store_shared(unsigned char *shared, uint32_t byte, uint32_t unit) { access<uint32_t>::store(shared + byte, 0, unit); }
HD void store_shared(unsigned char *shared, uint32_t byte, uint64_t unit) {
    store_shared(shared, byte, static_cast<uint32_t>(unit));
    store_shared(shared, byte + 4, static_cast<uint32_t>(unit >> 32));
}
HD void store_shared(unsigned char *shared, uint32_t byte, u128 unit) {
    store_shared(shared, byte, unit.word[0]);
    store_shared(shared, byte + 8, unit.word[1]);
}

struct two_places {
    int64_t from, to;
};

HD two_places places_of(const struct cs_gpu_steps &steps, uint32_t i) {
    two_places p = {0, 0};
    if (steps.n == 0) return p;
    for (int d = 0; d + 1 < steps.n; d++) {
        const int64_t digit = next_digit(i, steps.extent[d]);
        p.from += digit * steps.from[d];
        p.to += digit * steps.to[d];
    }
    p.from += i * steps.from[steps.n - 1];
    p.to += i * steps.to[steps.n - 1];
    return p;
}

HD int64_t guard_of(const struct cs_gpu_steps &steps, const int64_t *coefficient, uint32_t i) {
    int64_t sum = 0;
    if (steps.n == 0) return 0;
    for (int d = 0; d + 1 < steps.n; d++) sum += next_digit(i, steps.extent[d]) * coefficient[d];
    return sum + i * coefficient[steps.n - 1];
}

template <class T, class P> struct tile_kernel {
    struct cs_gpu_tile job;
    static constexpr int n_phases = 2;

    template <class L> HD L load_of(int64_t from, uint32_t i, uint32_t *byte) const {
        const uint32_t row = quotient(i, job.row_loads), column = i - row * static_cast<uint32_t>(job.row_loads.extent);
        const int64_t at = from + places_of(job.rows, row).from + static_cast<int64_t>(column * sizeof(L));
        *byte = row * job.row_pitch + column * static_cast<uint32_t>(sizeof(L));
        if (at < 0 || at + static_cast<int64_t>(sizeof(L)) > job.from_bytes) return unit_of_words<L>::make(0, 0);
        return access<L>::load(job.from + at, 0);
    }

    template <class L> HD void load_rows(int64_t from, const place &at, unsigned char *shared) const {
        for (uint32_t first = at.thread; first < job.n_loads; first += THREADS * UNROLL) {
            L loaded[UNROLL];
            uint32_t byte[UNROLL];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
            for (uint32_t k = 0; k < UNROLL; k++)
                if (first + k * THREADS < job.n_loads) loaded[k] = load_of<L>(from, first + k * THREADS, &byte[k]);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
            for (uint32_t k = 0; k < UNROLL; k++)
                if (first + k * THREADS < job.n_loads) store_shared(shared, byte[k], loaded[k]);
        }
    }

    HD void load(int64_t tile, const place &at, unsigned char *shared) const {
        const int64_t from = job.start_bytes + places_of(job.outer, static_cast<uint32_t>(tile)).from;
        switch (job.load_bits) {
        case 128: return load_rows<u128>(from, at, shared);
        case 64: return load_rows<uint64_t>(from, at, shared);
        case 32: return load_rows<uint32_t>(from, at, shared);
        case 16: return load_rows<uint16_t>(from, at, shared);
        default: return load_rows<uint8_t>(from, at, shared);
        }
    }

    HD uint32_t padding_in(int64_t tile, uint32_t i) const {
        uint32_t padding = 0;
        for (int g = 0; g < job.n_guards; g++) {
            const auto &guard = job.guard[g];
            const int64_t left = guard.left - guard_of(job.outer, guard.outer, static_cast<uint32_t>(tile)) - guard_of(job.units, guard.units, i);
            if (guard.most >= left) padding |= padding_of(guard.piece, job.n_pieces, left);
        }
        return padding;
    }

    HD void store(int64_t tile, const place &at, const unsigned char *shared) const {
        unsigned char *to = job.to + places_of(job.outer, static_cast<uint32_t>(tile)).to;
        for (uint32_t i = at.thread; i < job.n_units; i += THREADS) {
            const two_places p = places_of(job.units, i);
            const int32_t first = job.local_start + static_cast<int32_t>(p.from);
            auto unit = assembled<T, P, int32_t>::at(shared, first, job.piece, job.n_guards ? padding_in(tile, i) : 0);
            if (bits_of<T>::value >= 32 && job.has_word) unit = permute_unit(job.word, unit);
            access<T>::store(to + p.to, 0, unit);
        }
    }

    HD void run(int phase, const place &at, unsigned char *shared) const {
        if (phase == 0)
            load(at.block, at, shared);
        else
            store(at.block, at, shared);
    }
};

/* The pairs of by_unit_and_piece whose pieces are short and whose units are whole bytes. */
template <class F> enum cs_status by_tiled_pair(int unit, int piece, const F &f) {
    switch (unit * 1000 + piece) {
    case 128064: return f(u128(), uint64_t());
    case 128032: return f(u128(), uint32_t());
    case 128016: return f(u128(), uint16_t());
    case 128008: return f(u128(), uint8_t());
    case 128004: return f(u128(), nibble());
    case 64064: return f(uint64_t(), uint64_t());
    case 32032: return f(uint32_t(), uint32_t());
    case 32016: return f(uint32_t(), uint16_t());
    case 32008: return f(uint32_t(), uint8_t());
    case 32004: return f(uint32_t(), nibble());
    case 16016: return f(uint16_t(), uint16_t());
    case 8008: return f(uint8_t(), uint8_t());
    default: return f(uint8_t(), nibble());
    }
}

enum cs_status launch_tile(const struct cs_gpu_tile *job) {
    return by_tiled_pair(job->unit_bits, job->piece_bits, [&](auto unit, auto piece) {
        typedef tile_kernel<decltype(unit), decltype(piece)> kernel_type;
        const int64_t tile_bytes = static_cast<int64_t>(job->n_units) * job->unit_bits / 8;
        return launch("relayout", job->n_tiles * tile_bytes, kernel_type{*job}, job->n_tiles, job->tile_bytes);
    });
}

} // namespace

#endif
