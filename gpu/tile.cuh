/* Relayout through shared memory, for short pieces of long source runs (tile.c says which digits make a tile). Moves each
 * byte twice; limit: for 4-byte pieces memory bandwidth, for shorter ones that are not woven (weave.cuh) the shared memory
 * loads, one for each piece.
 *
 * Rows of the source go into shared memory, in loads as wide as all rows allow; after a barrier, destination units are
 * assembled from there. A block takes one tile after the other. Where a thread's first loads and units lie within a tile
 * is the same for each of them: it is worked out once. Loads of the next tile are under way while this one is written.
 * Loads past the ends of the source are left out; the pieces that would read them are padding. */
#ifndef CS_GPU_TILE_CUH
#define CS_GPU_TILE_CUH

#include "gpu/weave.cuh"

namespace {

/* Rows of shared memory begin at words, or double words where pieces are: wider units are stored in parts. */
HD void store_shared(unsigned char *shared, uint32_t byte, uint8_t unit) { shared[byte] = unit; }
HD void store_shared(unsigned char *shared, uint32_t byte, uint32_t unit) { access<uint32_t>::store(shared + byte, 0, unit); }
HD void store_shared(unsigned char *shared, uint32_t byte, uint64_t unit) {
    store_shared(shared, byte, static_cast<uint32_t>(unit));
    store_shared(shared, byte + 4, static_cast<uint32_t>(unit >> 32));
}
HD void store_shared(unsigned char *shared, uint32_t byte, u128 unit) {
    store_shared(shared, byte, unit.word[0]);
    store_shared(shared, byte + 8, unit.word[1]);
}

/* Places are worked out once a tile, or once a block: few registers matter more than few instructions. */
struct far_places {
    int64_t from, to;
};
struct near_places {
    int32_t from, to;
};

HD far_places places_of(const struct cs_gpu_steps &steps, uint32_t i) {
    far_places p = {0, 0};
    each_digit<1>(steps.extent, steps.n, i, [&](int d, int64_t digit) {
        p.from += digit * steps.from[d];
        p.to += digit * steps.to[d];
    });
    return p;
}

HD near_places places_of(const struct cs_gpu_short_steps &steps, uint32_t i) {
    near_places p = {0, 0};
    each_digit<1>(steps.extent, steps.n, i, [&](int d, int64_t wide) {
        const int32_t digit = static_cast<int32_t>(wide);
        p.from += digit * steps.from[d];
        p.to += digit * steps.to[d];
    });
    return p;
}

/* Assembly: how units come from shared memory. */
template <class Assembly> struct tile_kernel {
    struct cs_gpu_tile job;
    static constexpr int n_resident = 3;

    struct state {
        near_places load[UNROLL]; /* from the tile's source; to shared memory */
        near_places unit[UNROLL]; /* from a piece in shared memory; to the tile's destination */
        u128 loaded[UNROLL];
        far_places next; /* of the tile that `loaded` is from */
    };

    HD uint32_t load_bytes() const { return static_cast<uint32_t>(job.load_bits) / 8; }

    HD near_places load_at(uint32_t i) const {
        const uint32_t row = quotient(i, job.row_loads), byte = (i - row * static_cast<uint32_t>(job.row_loads.extent)) * load_bytes();
        const int32_t from = places_of(job.rows, row).from;
        return near_places{from + static_cast<int32_t>(byte), static_cast<int32_t>(row * job.row_pitch + byte)};
    }

    template <class L> HD L load(int64_t from) const {
        const bool is_there = job.guards.n == 0 || (from >= 0 && from + static_cast<int64_t>(sizeof(L)) <= job.from_bytes);
        return is_there ? access<L>::load(job.from + from, 0) : unit_of_words<L>::make(0, 0);
    }

    /* The first loads of a tile. */
    template <class L> HD void fetch_as(const place &at, state &s) const {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (uint32_t k = 0; k < UNROLL; k++) {
            if (at.thread + k * THREADS >= job.n_loads) continue;
            const L unit = load<L>(s.next.from + s.load[k].from);
            s.loaded[k] = u128{{low_word(unit), high_word(unit)}};
        }
    }

    HD void fetch(int64_t tile, const place &at, state &s) const {
        if (tile >= job.n_tiles) return;
        s.next = places_of(job.outer, static_cast<uint32_t>(tile));
        s.next.from += job.start_bytes;
        switch (job.load_bits) {
        case 128: return fetch_as<u128>(at, s);
        case 32: return fetch_as<uint32_t>(at, s);
        default: return fetch_as<uint8_t>(at, s);
        }
    }

    /* They, and all others of the tile, into shared memory. */
    template <class L> HD void commit_as(const place &at, unsigned char *shared, const state &s) const {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (uint32_t k = 0; k < UNROLL; k++)
            if (at.thread + k * THREADS < job.n_loads)
                store_shared(shared, static_cast<uint32_t>(s.load[k].to),
                             Assembly::arranged(job, unit_of_words<L>::make(s.loaded[k].word[0], s.loaded[k].word[1])));
        for (uint32_t i = at.thread + UNROLL * THREADS; i < job.n_loads; i += THREADS) {
            const near_places p = load_at(i);
            store_shared(shared, static_cast<uint32_t>(p.to), Assembly::arranged(job, load<L>(s.next.from + p.from)));
        }
    }

    HD void commit(const place &at, unsigned char *shared, const state &s) const {
        switch (job.load_bits) {
        case 128: return commit_as<u128>(at, shared, s);
        case 32: return commit_as<uint32_t>(at, shared, s);
        default: return commit_as<uint8_t>(at, shared, s);
        }
    }

    HD uint32_t padding_in(int64_t tile, uint32_t i) const {
        return padding_of(job.guards, [&](int g) {
            return job.guards.guard[g].left - form_of<1>(job.outer.extent, job.outer.n, job.outer_guard[g], static_cast<uint32_t>(tile)) -
                   form_of<1>(job.units.extent, job.units.n, job.units_guard[g], i);
        });
    }

    HD void write_unit(int64_t tile, uint32_t i, const near_places &p, unsigned char *to, const unsigned char *shared) const {
        access<typename Assembly::unit>::store(to + p.to, 0, Assembly::at(job, shared, p.from, padding_in(tile, i)));
    }

    HD near_places unit_at(uint32_t i) const {
        near_places p = places_of(job.units, i);
        p.from += job.local_start;
        return p;
    }

    HD void write(int64_t tile, const place &at, unsigned char *to, const unsigned char *shared, const state &s) const {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (uint32_t k = 0; k < UNROLL; k++)
            if (at.thread + k * THREADS < job.n_units) write_unit(tile, at.thread + k * THREADS, s.unit[k], to, shared);
        for (uint32_t i = at.thread + UNROLL * THREADS; i < job.n_units; i += THREADS) write_unit(tile, i, unit_at(i), to, shared);
    }

    HD void begin(const place &at, state &s) const {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (uint32_t k = 0; k < UNROLL; k++) {
            const uint32_t i = at.thread + k * THREADS;
            s.load[k] = i < job.n_loads ? load_at(i) : near_places{0, 0};
            s.unit[k] = i < job.n_units ? unit_at(i) : near_places{0, 0};
        }
        fetch(at.block, at, s);
    }

    /* Phase 0, then two for each tile. */
    HD int n_phases(const place &at) const {
        if (at.block >= job.n_tiles) return 0;
        return 1 + 2 * static_cast<int>((job.n_tiles - at.block - 1) / at.n_blocks + 1);
    }

    HD void run(int phase, const place &at, unsigned char *shared, state &s) const {
        if (phase == 0) return begin(at, s);
        if (phase % 2) return commit(at, shared, s);
        const int64_t tile = at.block + (phase / 2 - 1) * at.n_blocks;
        unsigned char *to = job.to + s.next.to;
        fetch(tile + at.n_blocks, at, s);
        write(tile, at, to, shared, s);
    }
};

template <class Assembly> enum cs_status launch_tiles(const struct cs_gpu_tile *job) {
    typedef tile_kernel<Assembly> kernel_type;
    const int64_t tile_bytes = static_cast<int64_t>(job->n_units) * job->unit_bits / 8;
    const int64_t n_blocks = resident_grid_of<kernel_type>(job->n_tiles, job->tile_bytes);
    return launch("relayout", job->n_tiles * tile_bytes, kernel_type{*job}, n_blocks, job->tile_bytes);
}

/* Pieces of 16 bytes are read directly, as are units of single nibbles. */
enum cs_status launch_tile(const struct cs_gpu_tile *job) {
    if (job->weave.has_nibbles) return launch_tiles<woven_nibbles>(job);
    switch (job->weave.field_bits) {
    case 32: return launch_tiles<woven<uint32_t>>(job);
    case 16: return launch_tiles<woven<uint16_t>>(job);
    case 8: return launch_tiles<woven<uint8_t>>(job);
    default: break;
    }
    return by_unit_and_piece(job->unit_bits, job->piece_bits, [&](auto unit, auto piece) {
        typedef decltype(unit) T;
        typedef decltype(piece) P;
        if constexpr (bits_of<T>::value < 8 || bits_of<P>::value > 64)
            return cs_fail(CS_INTERNAL, "relayout: no tiles for pieces of %d bits", job->piece_bits);
        else
            return launch_tiles<gathered<T, P>>(job);
    });
}

} // namespace

#endif
