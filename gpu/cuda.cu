/* The CUDA backend: one stream, memory from a pool, pinned staging, graphs. */
#include "gpu/cuda.cuh"
#include "gpu/kernels.cuh"

#include <stdio.h>

namespace {

/* ---- the device, and its stream ---- */

enum { HALF_BYTES = 16 << 20, MINIMUM_MAJOR = 8 };

/* Pinned memory in two halves: while copies of one are under way, the other is filled. Small uploads share a half. */
struct staging {
    unsigned char *half[2];
    cudaEvent_t is_idle[2]; /* copies out of, or into, this half are done */
    int current;
    size_t used;
};

struct {
    bool is_open;
    cudaStream_t stream;
    cudaMemPool_t pool;
    int n_multiprocessors;
    struct staging up, down;
} gpu;


/* Asks the driver once. */
const char *unavailable() {
    static char reason[256];
    static bool is_known;
    int n = 0, major = 0, minor = 0;
    if (is_known) return reason;
    is_known = true;
    cudaError_t error = cudaGetDeviceCount(&n);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
    if (error != cudaSuccess)
        snprintf(reason, sizeof reason, "no GPU: %s", cudaGetErrorString(error));
    else if (major < MINIMUM_MAJOR)
        snprintf(reason, sizeof reason, "no GPU: compute capability %d.%d, at least %d.0 is needed", major, minor, MINIMUM_MAJOR);
    cudaGetLastError(); /* of no later call */
    return reason;
}

cudaError_t open_staging(struct staging *staging) {
    cudaError_t error = cudaSuccess;
    for (int h = 0; h < 2; h++) {
        if (error == cudaSuccess) error = cudaMallocHost(&staging->half[h], HALF_BYTES);
        if (error == cudaSuccess) error = cudaEventCreateWithFlags(&staging->is_idle[h], cudaEventDisableTiming);
    }
    return error;
}

/* Freed memory stays with the pool: capturing and releasing are a few microseconds each. */
cudaError_t open_pool() {
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    uint64_t threshold = UINT64_MAX;
    cudaError_t error = cudaMemPoolCreate(&gpu.pool, &props);
    return error == cudaSuccess ? cudaMemPoolSetAttribute(gpu.pool, cudaMemPoolAttrReleaseThreshold, &threshold) : error;
}

enum cs_status open() {
    if (gpu.is_open) return CS_OK;
    CS_REQUIRE(!*unavailable(), CS_UNSUPPORTED, "gpu: %s", unavailable());
    cudaError_t error = cudaSetDevice(0);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&gpu.n_multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking);
    if (error == cudaSuccess) error = open_pool();
    if (error == cudaSuccess) error = open_staging(&gpu.up);
    if (error == cudaSuccess) error = open_staging(&gpu.down);
    CS_TRY(check("opening the device, with pinned memory", 4 * static_cast<int64_t>(HALF_BYTES), error));
    gpu.is_open = true;
    return CS_OK;
}

/* ---- memory ---- */

/* What the pool could not give may lie in it in the wrong sizes: it gives back what is idle, once. */
enum cs_status allocate(size_t bytes, void **data) {
    *data = nullptr;
    CS_TRY(open());
    cudaError_t error = cudaMallocFromPoolAsync(data, bytes, gpu.pool, gpu.stream);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        cudaStreamSynchronize(gpu.stream);
        cudaMemPoolTrimTo(gpu.pool, 0);
        error = cudaMallocFromPoolAsync(data, bytes, gpu.pool, gpu.stream);
    }
    if (error == cudaErrorMemoryAllocation) {
        size_t available = 0, total = 0;
        cudaGetLastError();
        cudaMemGetInfo(&available, &total);
        return cs_fail(CS_NO_MEMORY, "gpu: no memory for %zu bytes: %zu of the device's %zu are free", bytes, available, total);
    }
    return check("allocation", static_cast<int64_t>(bytes), error);
}

/* In the order of the stream: work that was launched before still has it. */
void release(void *data) { cudaFreeAsync(data, gpu.stream); }

/* Room in the current half, at most `bytes`; when that is full, in the other, once its copies are done. */
cudaError_t staging_room(struct staging *staging, size_t bytes, unsigned char **room, size_t *n) {
    cudaError_t error = cudaSuccess;
    if (staging->used == HALF_BYTES) {
        error = cudaEventRecord(staging->is_idle[staging->current], gpu.stream);
        staging->current ^= 1;
        staging->used = 0;
        if (error == cudaSuccess) error = cudaEventSynchronize(staging->is_idle[staging->current]);
    }
    *room = staging->half[staging->current] + staging->used;
    *n = bytes < HALF_BYTES - staging->used ? bytes : HALF_BYTES - staging->used;
    const size_t used = staging->used + (*n + 255) / 256 * 256;
    staging->used = used < HALF_BYTES ? used : HALF_BYTES;
    return error;
}

enum cs_status upload(void *data, const void *host, size_t bytes) {
    CS_TRY(open());
    for (size_t at = 0, n; at < bytes; at += n) {
        unsigned char *room;
        CS_TRY(check("upload", static_cast<int64_t>(bytes), staging_room(&gpu.up, bytes - at, &room, &n)));
        cs_gpu_host_copy(room, static_cast<const unsigned char *>(host) + at, n);
        CS_TRY(check("upload", static_cast<int64_t>(bytes),
                     cudaMemcpyAsync(static_cast<unsigned char *>(data) + at, room, n, cudaMemcpyHostToDevice, gpu.stream)));
    }
    return CS_OK;
}

/* Starts copying the chunk at `at` into one half. */
cudaError_t begin_download(const void *data, size_t at, size_t bytes, int half) {
    const size_t n = bytes - at < HALF_BYTES ? bytes - at : HALF_BYTES;
    cudaError_t error = cudaMemcpyAsync(gpu.down.half[half], static_cast<const unsigned char *>(data) + at, n, cudaMemcpyDeviceToHost, gpu.stream);
    return error == cudaSuccess ? cudaEventRecord(gpu.down.is_idle[half], gpu.stream) : error;
}

/* While one half is copied out, the other is on its way. */
enum cs_status download(void *host, const void *data, size_t bytes) {
    CS_TRY(open());
    const int64_t size = static_cast<int64_t>(bytes);
    int half = 0;
    if (bytes) CS_TRY(check("download", size, begin_download(data, 0, bytes, half)));
    for (size_t at = 0; at < bytes; at += HALF_BYTES, half ^= 1) {
        const size_t next = at + HALF_BYTES;
        if (next < bytes) CS_TRY(check("download", size, begin_download(data, next, bytes, half ^ 1)));
        CS_TRY(check("download", size, cudaEventSynchronize(gpu.down.is_idle[half])));
        cs_gpu_host_copy(static_cast<unsigned char *>(host) + at, gpu.down.half[half], next < bytes ? HALF_BYTES : bytes - at);
    }
    return CS_OK;
}

enum cs_status move(void *to, const void *from, size_t bytes) {
    return check("copy", static_cast<int64_t>(bytes), cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, gpu.stream));
}

enum cs_status set(void *data, int byte, size_t bytes) {
    return check("setting", static_cast<int64_t>(bytes), cudaMemsetAsync(data, byte, bytes, gpu.stream));
}

/* ---- graphs ---- */

enum cs_status instantiate(struct cs_gpu_graph *graph, cudaGraph_t nodes) {
    cudaGraphExec_t executable;
    CS_TRY(check("making a graph that reads", static_cast<int64_t>(graph->n), cudaGraphInstantiate(&executable, nodes, 0)));
    graph->executable = executable;
    return CS_OK;
}

enum cs_status record(struct cs_gpu_graph *graph) {
    cudaGraph_t nodes = nullptr;
    CS_TRY(check("beginning a graph", 0, cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal)));
    enum cs_status status = run_graph(graph, set);
    const cudaError_t error = cudaStreamEndCapture(gpu.stream, &nodes);
    if (status == CS_OK) status = check("ending a graph", 0, error);
    if (status == CS_OK) status = instantiate(graph, nodes);
    if (nodes) cudaGraphDestroy(nodes);
    return status;
}

enum cs_status play(const struct cs_gpu_graph *graph) {
    return check("replaying a graph", 0, cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph->executable), gpu.stream));
}

/* A graph may be destroyed only when it does not run. */
void forget(struct cs_gpu_graph *graph) {
    cudaStreamSynchronize(gpu.stream);
    cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph->executable));
}

} // namespace

cudaStream_t cs_gpu_stream() { return gpu.stream; }
int cs_gpu_multiprocessors() { return gpu.n_multiprocessors; }

extern "C" const struct cs_gpu_backend cs_gpu_backend_cuda = {
    "gpu",  unavailable, allocate, release, upload, download, move, set, CS_GPU_KERNELS(cs_gpu_cuda_known_map, cs_gpu_cuda_known_maximum),
    record, play,        forget,
};
