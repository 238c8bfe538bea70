/* Batched fill: all regions of all tensors in one launch. Writes each byte of the regions once; limit: write bandwidth,
 * less what short runs waste of the 32-byte sectors that they touch (as any writer of the same runs would).
 *
 * Tiles of all regions are numbered through and dealt out in turn, so that tiles of short runs, which take longer, are
 * spread over all blocks. A block finds the region of its first tile by bisection, and from there only moves on. */
#ifndef CS_GPU_FILL_CUH
#define CS_GPU_FILL_CUH

#include "gpu/units.cuh"

namespace {

/* A table in device memory. */
struct region_table {
    const struct cs_gpu_region *regions;
    const int64_t *first_tile;
};
/* Regions that travel with the launch. */
template <int N> struct few_regions {
    struct cs_gpu_region regions[N];
    int64_t first_tile[N + 1];
};

template <class Table> struct fill_kernel {
    Table table;
    int64_t n_regions, n_tiles;
    static constexpr int n_resident = 6;
    struct state {};

    HD int64_t region_of(int64_t tile) const {
        int64_t low = 0, high = n_regions; /* first_tile[low] <= tile < first_tile[high] */
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            if (table.first_tile[middle] <= tile)
                low = middle;
            else
                high = middle;
        }
        return low;
    }

    /* Of UNROLL units, THREADS apart: what is known of a digit is read once for all of them. */
    template <class I> static HD void find(const struct cs_gpu_walk &walk, I first, int64_t (&at)[UNROLL]) {
        I rest[UNROLL];
        for (I k = 0; k < UNROLL; k++) {
            rest[k] = first + k * THREADS;
            at[k] = walk.start[0];
        }
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
        for (int d = 0; d + 1 < walk.ndim; d++) {
            const struct cs_gpu_divisor extent = walk.extent[d];
            const int64_t stride = walk.stride[0][d];
            for (I k = 0; k < UNROLL; k++) at[k] += next_digit(rest[k], extent) * stride;
        }
        const int64_t stride = walk.stride[0][walk.ndim - 1];
        for (I k = 0; k < UNROLL; k++) at[k] += static_cast<int64_t>(rest[k]) * stride;
    }

    template <class T> static HD void write_units(const struct cs_gpu_region &region, const int64_t (&at)[UNROLL], int n) {
        const auto unit = unit_of_words<typename access<T>::value>::make(region.pattern, region.pattern);
        unsigned char *const to = region.to;
        for (int k = 0; k < UNROLL; k++)
            if (k < n) access<T>::store(to, at[k], unit);
    }

    static HD void write(const struct cs_gpu_region &region, const int64_t (&at)[UNROLL], int n) {
        switch (region.walk.bits) {
        case 4: return write_units<nibble>(region, at, n);
        case 8: return write_units<uint8_t>(region, at, n);
        case 16: return write_units<uint16_t>(region, at, n);
        case 32: return write_units<uint32_t>(region, at, n);
        case 64: return write_units<uint64_t>(region, at, n);
        default: return write_units<u128>(region, at, n);
        }
    }

    static HD void write_tile(const struct cs_gpu_region &region, int64_t tile, uint32_t thread) {
        const int64_t first = tile * CS_GPU_TILE + thread, left = region.walk.n - first;
        const int n = left >= CS_GPU_TILE ? UNROLL : left > 0 ? static_cast<int>((left + THREADS - 1) / THREADS) : 0;
        int64_t at[UNROLL];
        if (region.is_wide)
            find(region.walk, static_cast<uint64_t>(first), at);
        else
            find(region.walk, static_cast<uint32_t>(first), at);
        write(region, at, n);
    }

    HD int n_phases(const place &) const { return 1; }
    HD void run(int, const place &at, unsigned char *, state &) const {
        if (at.block >= n_tiles) return;
        int64_t r = region_of(at.block);
        for (int64_t tile = at.block; tile < n_tiles; tile += at.n_blocks) {
            while (r + 1 < n_regions && tile >= table.first_tile[r + 1]) r++;
            write_tile(table.regions[r], tile - table.first_tile[r], at.thread);
        }
    }
};

template <class Table> enum cs_status launch_regions(const Table &table, const struct cs_gpu_fill *job) {
    const fill_kernel<Table> k = {table, job->n_regions, job->n_tiles};
    return launch("fill", job->n_bytes, k, resident_grid_of<fill_kernel<Table>>(job->n_tiles, 0), 0);
}

template <int N> enum cs_status launch_few(const struct cs_gpu_fill *job) {
    few_regions<N> few = {};
    memcpy(few.regions, job->regions, static_cast<size_t>(job->n_regions) * sizeof *few.regions);
    memcpy(few.first_tile, job->first_tile, static_cast<size_t>(job->n_regions + 1) * sizeof *few.first_tile);
    return launch_regions(few, job);
}

enum cs_status launch_fill(const struct cs_gpu_fill *job) {
    if (job->n_regions == 1) return launch_few<1>(job);
    if (job->n_regions <= CS_GPU_FEW_REGIONS) return launch_few<CS_GPU_FEW_REGIONS>(job);
    return launch_regions(region_table{job->regions, job->first_tile}, job);
}

} // namespace

#endif
