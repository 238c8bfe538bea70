/* The kernels, for the host. What the device calls memory is the host's; nothing is asynchronous. */
#include "gpu/kernels.cuh"
#include "gpu/known_maximum.cuh"

#include <stdlib.h>

namespace {

const char *unavailable() { return ""; }

/* As aligned as CUDA's, and never where a kernel would not expect the end to be: sanitizers see each overrun. */
enum cs_status allocate(size_t bytes, void **data) {
    *data = nullptr;
    const bool is_possible = bytes <= PTRDIFF_MAX - 256;
    CS_REQUIRE(is_possible && posix_memalign(data, 256, bytes) == 0, CS_NO_MEMORY, "emu: no memory for %zu bytes", bytes);
    return CS_OK;
}

void release(void *data) { free(data); }

enum cs_status move(void *to, const void *from, size_t bytes) {
    cs_gpu_host_copy(to, from, bytes);
    return CS_OK;
}

enum cs_status set(void *data, int byte, size_t bytes) {
    memset(data, byte, bytes);
    return CS_OK;
}

enum cs_status record(struct cs_gpu_graph *graph) {
    graph->executable = graph;
    return CS_OK;
}

enum cs_status play(const struct cs_gpu_graph *graph) { return run_graph(graph, set); }

void forget(struct cs_gpu_graph *) {}

} // namespace

extern "C" const struct cs_gpu_backend cs_gpu_backend_emu = {
    "emu", unavailable, allocate, release, move, move, move, set, CS_GPU_KERNELS(launch_known_map, launch_known_maximum), record, play, forget,
};
