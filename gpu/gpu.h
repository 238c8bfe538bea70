/* Two devices from one source: `gpu`, CUDA, and `emu`, the same kernel bodies compiled for the host.
 *
 * A kernel is a body of one index, or of one block in phases between barriers (launch.cuh). Plain C plans the work: it
 * merges dimensions, chooses how many bytes move at once, and writes a job (jobs.h), which a backend then runs. `emu`
 * runs every block of it on the CPU, in shuffled order and on odd grids, so that machines without a GPU execute, sanitize
 * and measure the kernels. `ref` shares declarations with both, never arithmetic.
 *
 * One device is one stream: operations run in the order of their calls, and a call returns before its work is done,
 * unless it returns a result to the host (compare, digest, download, replay). Errors of earlier work appear there.
 * HOST sources are staged through pinned memory; they have been read when a call returns. */
#ifndef CS_GPU_GPU_H
#define CS_GPU_GPU_H

#include "sim/device/device.h"

extern const struct cs_device cs_device_gpu, cs_device_emu;

/* ---- settings, for tests ---- */

/* Allocations that would exceed this many bytes in use fail, on each of the two devices; 0: no cap but the memory. */
void cs_gpu_set_memory_cap(size_t bytes);
/* Bytes that callers and unfinished operations hold. */
size_t cs_gpu_memory_used(const struct cs_device *device);
/* Jobs of at least this many units compute indices in 64 bits instead of 32; at most the default, 2^30. */
void cs_gpu_set_index_limit(int64_t n);
enum { CS_GPU_INDEX_LIMIT = 1 << 30 };
/* Elements that programs without a kernel of their own (known.h) have computed, on both devices, since the process began. */
int64_t cs_gpu_interpreted(void);

#endif
