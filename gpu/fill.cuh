/* Batched fill: all regions of all tensors in one launch. Writes each byte of the regions once; limit: write bandwidth,
 * less what short runs waste of the 32-byte sectors that they touch (as any writer of the same runs would).
 *
 * Tiles of all regions are numbered through. A block takes a range of them, finds the region of the first by bisection,
 * and from there only moves on to the next. */
#ifndef CS_GPU_FILL_CUH
#define CS_GPU_FILL_CUH

#include "gpu/units.cuh"

namespace {

struct fill_kernel {
    struct cs_gpu_fill job;
    static constexpr int n_resident = 1;
    struct state {};

    HD int64_t region_of(int64_t tile) const {
        int64_t low = 0, high = job.n_regions; /* first_tile[low] <= tile < first_tile[high] */
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            if (job.first_tile[middle] <= tile)
                low = middle;
            else
                high = middle;
        }
        return low;
    }

    template <class T, class I> static HD void write_units(const struct cs_gpu_region &region, I first) {
        const auto unit = unit_of_words<typename access<T>::value>::make(region.pattern, region.pattern);
        const I n = static_cast<I>(region.walk.n);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (I k = 0; k < UNROLL; k++) {
            const I i = first + k * THREADS;
            if (i < n) access<T>::store(region.to, positions_of<1>(region.walk, i).at[0], unit);
        }
    }

    template <class I> static HD void write(const struct cs_gpu_region &region, I first) {
        switch (region.walk.bits) {
        case 4: return write_units<nibble>(region, first);
        case 8: return write_units<uint8_t>(region, first);
        case 16: return write_units<uint16_t>(region, first);
        case 32: return write_units<uint32_t>(region, first);
        case 64: return write_units<uint64_t>(region, first);
        default: return write_units<u128>(region, first);
        }
    }

    static HD void write_tile(const struct cs_gpu_region &region, int64_t tile, uint32_t thread) {
        const uint64_t first = static_cast<uint64_t>(tile) * CS_GPU_TILE + thread;
        if (region.is_wide)
            write(region, first);
        else
            write(region, static_cast<uint32_t>(first));
    }

    HD int n_phases(const place &) const { return 1; }
    HD void run(int, const place &at, unsigned char *, state &) const {
        const int64_t share = job.n_tiles / at.n_blocks, more = job.n_tiles % at.n_blocks;
        int64_t tile = at.block * share + (at.block < more ? at.block : more);
        const int64_t end = tile + share + (at.block < more);
        if (!job.regions) {
            for (; tile < end; tile++) write_tile(job.only, tile, at.thread);
            return;
        }
        int64_t r = tile < end ? region_of(tile) : 0;
        for (; tile < end; tile++) {
            while (tile >= job.first_tile[r + 1]) r++;
            write_tile(job.regions[r], tile - job.first_tile[r], at.thread);
        }
    }
};

enum cs_status launch_fill(const struct cs_gpu_fill *job) {
    return launch("fill", job->n_bytes, fill_kernel{*job}, resident_grid_of<fill_kernel>(job->n_tiles, 0), 0);
}

} // namespace

#endif
