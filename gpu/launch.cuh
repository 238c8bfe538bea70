/* How kernels run: on CUDA, or block by block on the host.
 *
 * A kernel is a struct K with
 *   static constexpr int n_resident    blocks that a multiprocessor shall hold at least; 1: registers are no concern
 *   struct state                       what a thread keeps from phase to phase: registers
 *   n_phases(place)                    the same for all threads of a block; barriers stand between phases
 *   run(phase, place, shared, state)   what one thread does in one phase; `shared` belongs to the block
 * The host runs all threads of a phase, in an odd order, before the next phase begins; so a kernel that needs a barrier
 * where none is gives wrong results there too. */
#ifndef CS_GPU_LAUNCH_CUH
#define CS_GPU_LAUNCH_CUH

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern "C" {
#include "gpu/jobs.h"
}

#ifdef __CUDACC__
#define HD __host__ __device__ __forceinline__
#define HD_CALL __host__ __device__ __noinline__ /* rare and long */
/* Of the device (cuda.cu), for all files that launch. */
cudaStream_t cs_gpu_stream();
int cs_gpu_multiprocessors();
#else
#define HD inline
#define HD_CALL inline
#endif

namespace {

enum { THREADS = CS_GPU_THREADS, UNROLL = CS_GPU_UNROLL };

struct place {
    int64_t block, n_blocks;
    uint32_t thread;
};

#ifdef __CUDACC__

enum cs_status check(const char *what, int64_t bytes, cudaError_t error) {
    CS_REQUIRE(error == cudaSuccess, error == cudaErrorMemoryAllocation ? CS_NO_MEMORY : CS_INTERNAL, "gpu: %s of %" PRId64 " bytes: %s",
               what, bytes, cudaGetErrorString(error));
    return CS_OK;
}

template <class K> __global__ void __launch_bounds__(THREADS, K::n_resident) kernel(const __grid_constant__ K k) {
    extern __shared__ __align__(16) unsigned char shared[];
    const place at = {blockIdx.x, gridDim.x, threadIdx.x};
    const int n_phases = k.n_phases(at);
    typename K::state state;
    for (int phase = 0; phase < n_phases; phase++) {
        if (phase > 0) __syncthreads();
        k.run(phase, at, shared, state);
    }
}

/* `bytes` is for messages: what the operation writes or reads. */
template <class K> enum cs_status launch(const char *what, int64_t bytes, const K &k, int64_t n_blocks, size_t shared_bytes) {
    if (n_blocks == 0) return CS_OK;
    kernel<K><<<(unsigned)n_blocks, THREADS, shared_bytes, cs_gpu_stream()>>>(k);
    return check(what, bytes, cudaGetLastError());
}

/* One tile of work for each block. */
inline int64_t grid_of(int64_t n_tiles) { return n_tiles < INT32_MAX ? n_tiles : INT32_MAX; }

/* As many blocks as run at once, each of which loops: a second, half-empty wave would double the time. */
template <class K> int64_t resident_grid_of(int64_t n_tiles, size_t shared_bytes) {
    static int per_multiprocessor; /* of this kernel, which mostly asks for the same shared memory */
    static size_t asked;
    if (per_multiprocessor == 0 || asked != shared_bytes) {
        asked = shared_bytes;
        const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel<K>, THREADS, shared_bytes);
        if (error != cudaSuccess || per_multiprocessor < 1) per_multiprocessor = 1;
    }
    const int64_t most = (int64_t)cs_gpu_multiprocessors() * per_multiprocessor;
    return n_tiles < most ? n_tiles : most;
}

#else

template <class K> void run_block(const void *context, int64_t block, int64_t n_blocks, unsigned char *shared) {
    const K *k = static_cast<const K *>(context);
    const uint32_t odd = 77, first = static_cast<uint32_t>(block * 13);
    typename K::state states[THREADS];
    const int n_phases = k->n_phases(place{block, n_blocks, 0});
    for (int phase = 0; phase < n_phases; phase++)
        for (uint32_t t = 0; t < THREADS; t++) {
            const uint32_t thread = (t * odd + first) % THREADS;
            k->run(phase, place{block, n_blocks, thread}, shared, states[thread]);
        }
}

template <class K> enum cs_status launch(const char *, int64_t, const K &k, int64_t n_blocks, size_t shared_bytes) {
    return cs_gpu_host_blocks(run_block<K>, &k, n_blocks, shared_bytes);
}

/* Odd, and mostly too few, so that blocks loop. */
inline int64_t grid_of(int64_t n_tiles) { return n_tiles < 2 ? n_tiles : n_tiles % 8 * 2 + 3; }
template <class K> int64_t resident_grid_of(int64_t n_tiles, size_t) { return grid_of(n_tiles); }

#endif

/* ---- work that is one index after the other: Body has load(i), and store(what load returned) ----
 *
 * Each thread has UNROLL loads in flight. */
template <class Body, class I> struct each {
    Body body;
    I n;
    static constexpr int n_resident = 1;
    struct state {};

    HD int n_phases(const place &) const { return 1; }
    HD void run(int, const place &at, unsigned char *, state &) const {
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
                if (first + k * THREADS < n) body.store(loaded[k]);
        }
    }
};

inline int64_t tiles_of(int64_t n) { return n / CS_GPU_TILE + (n % CS_GPU_TILE != 0); }

template <class Body, class I> enum cs_status launch_each(const char *what, int64_t bytes, const Body &body, int64_t n) {
    each<Body, I> k = {body, static_cast<I>(n)};
    return launch(what, bytes, k, grid_of(tiles_of(n)), 0);
}

} // namespace

#endif
