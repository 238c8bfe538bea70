/* The table of operations, for both devices: each plans a job and hands it to the backend. */
#include "gpu/jobs.h"

#include <stdlib.h>
#include <string.h>

/* ---- which backend; memory ---- */

enum { GPU, EMU, N_BACKENDS };

static const struct cs_gpu_backend *const backends[N_BACKENDS] = {&cs_gpu_backend_cuda, &cs_gpu_backend_emu};
static size_t memory_used[N_BACKENDS], memory_cap;
static struct cs_gpu_tally *result[N_BACKENDS]; /* CS_DIGESTS of them, allocated once: of compare and digests */

static int which(const struct cs_device *device) { return device == &cs_device_gpu ? GPU : EMU; }
static const struct cs_gpu_backend *backend_of(const struct cs_device *device) { return backends[which(device)]; }

void cs_gpu_set_memory_cap(size_t bytes) { memory_cap = bytes; }
size_t cs_gpu_memory_used(const struct cs_device *device) { return memory_used[which(device)]; }

static const char *gpu_unavailable(void) { return cs_gpu_backend_cuda.unavailable(); }
static const char *emu_unavailable(void) { return cs_gpu_backend_emu.unavailable(); }

static enum cs_status allocate(const struct cs_device *device, size_t bytes, void **data) {
    size_t *used = &memory_used[which(device)];
    *data = NULL;
    if (bytes == 0) return CS_OK;
    CS_REQUIRE(memory_cap == 0 || (*used <= memory_cap && bytes <= memory_cap - *used), CS_NO_MEMORY,
               "%s: no memory for %zu bytes: %zu of %zu are in use", device->name, bytes, *used, memory_cap);
    CS_TRY(backend_of(device)->allocate(bytes, data));
    *used += bytes;
    return CS_OK;
}

static void release(const struct cs_device *device, void *data, size_t bytes) {
    if (!data) return;
    backend_of(device)->release(data);
    memory_used[which(device)] -= bytes;
}

static enum cs_status upload(const struct cs_device *device, void *data, const void *host, size_t bytes) {
    return bytes ? backend_of(device)->upload(data, host, bytes) : CS_OK;
}

static enum cs_status download(const struct cs_device *device, void *host, const void *data, size_t bytes) {
    return bytes ? backend_of(device)->download(host, data, bytes) : CS_OK;
}

/* ---- HOST views: staged ---- */

struct resident {
    struct cs_storage storage;
    struct cs_view view;
};

static void resident_release(const struct cs_device *device, struct resident *resident) {
    release(device, resident->storage.data, resident->storage.bytes);
}

/* Elements that lie together at each position of the outer dimensions, of which there are `*n_outer`. */
static int64_t host_run(const struct cs_view *view, int *n_outer) {
    int64_t run = 1;
    for (*n_outer = view->ndim; *n_outer > 0 && view->stride[*n_outer - 1] == run; --*n_outer) run *= view->shape[*n_outer - 1];
    return run;
}

enum { LEAST_RUN = 64, PARALLEL_RUNS = 256 }; /* bytes: shorter runs cost more than the gaps between them; runs */

/* Rows of a shard's columns lie far apart in the tensor that they are narrowed from: what is between them stays where it is. */
static bool has_gaps(const struct cs_view *view) {
    int n_outer, bits = cs_dtype_bits(view->dtype);
    bool is_expanded = false;
    for (int d = 0; d < view->ndim; d++) is_expanded = is_expanded || view->stride[d] == 0;
    return bits >= 8 && !is_expanded && host_run(view, &n_outer) * (bits / 8) >= LEAST_RUN &&
           (size_t)cs_view_numel(view) * (size_t)(bits / 8) < cs_gpu_span_bytes(view);
}

static void pack(unsigned char *to, const unsigned char *host, const struct cs_view *view) {
    int n_outer;
    int64_t size = cs_dtype_bits(view->dtype) / 8, run = host_run(view, &n_outer), n = cs_view_numel(view) / run;
#pragma omp parallel for schedule(static) if (n > PARALLEL_RUNS)
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = 0;
        for (int d = n_outer - 1; d >= 0; d--) {
            at += rest % view->shape[d] * view->stride[d];
            rest /= view->shape[d];
        }
        memcpy(to + i * run * size, host + at * size, (size_t)(run * size));
    }
}

static enum cs_status upload_packed(const struct cs_device *device, struct resident *resident, const unsigned char *host) {
    unsigned char *packed = malloc(resident->storage.bytes);
    CS_REQUIRE(packed, CS_NO_MEMORY, "%s: no host memory for %zu bytes to upload", device->name, resident->storage.bytes);
    pack(packed, host, &resident->view);
    enum cs_status status = upload(device, resident->storage.data, packed, resident->storage.bytes);
    int64_t stride = 1;
    for (int d = resident->view.ndim - 1; d >= 0; d--) {
        resident->view.stride[d] = stride;
        stride *= resident->view.shape[d];
    }
    free(packed);
    return status;
}

/* `resident->view` := the view itself, or a copy of its elements in device memory. */
static enum cs_status make_resident(const struct cs_device *device, const struct cs_view *view, struct resident *resident) {
    resident->storage = (struct cs_storage){.kind = CS_STORAGE_MEMORY, .label = "staged bytes"};
    resident->view = *view;
    if (view->storage->kind != CS_STORAGE_HOST || cs_view_numel(view) == 0) return CS_OK;
    const unsigned char *host = (const unsigned char *)view->storage->data + cs_view_byte_offset(view);
    resident->view.storage = &resident->storage;
    resident->view.offset = cs_dtype_bits(view->dtype) < 8 ? view->offset % 2 : 0;
    bool is_packed = has_gaps(view);
    resident->storage.bytes = is_packed ? (size_t)cs_view_numel(view) * (size_t)cs_dtype_bits(view->dtype) / 8 : cs_gpu_span_bytes(view);
    CS_TRY(allocate(device, resident->storage.bytes, &resident->storage.data));
    enum cs_status status = is_packed ? upload_packed(device, resident, host) : upload(device, resident->storage.data, host, resident->storage.bytes);
    if (status != CS_OK) resident_release(device, resident);
    return status;
}

static unsigned char *bytes_of(const struct cs_view *view) { return view->storage->data; }
static uintptr_t address_of(const struct cs_view *view) { return (uintptr_t)view->storage->data; }

/* ---- copy, convert, generate ---- */

static enum cs_status copy_resident(const struct cs_device *device, const struct cs_view *to, const struct cs_view *from) {
    struct cs_gpu_copy job = {cs_gpu_walk_of(to, from), bytes_of(to), bytes_of(from)};
    cs_gpu_walk_group(&job.walk, address_of(to), address_of(from));
    if (job.walk.bits < 8 || !cs_gpu_walk_is_dense(&job.walk, 2)) return backend_of(device)->copy(&job);
    int64_t size = job.walk.bits / 8;
    return backend_of(device)->move(job.to + job.walk.start[0] * size, job.from + job.walk.start[1] * size, (size_t)(job.walk.n * size));
}

static enum cs_status copy(const struct cs_device *device, const struct cs_view *destination, const struct cs_view *source) {
    struct resident from;
    if (cs_view_numel(destination) == 0) return CS_OK;
    CS_TRY(make_resident(device, source, &from));
    enum cs_status status = copy_resident(device, destination, &from.view);
    resident_release(device, &from);
    return status;
}

static enum cs_status convert(const struct cs_device *device, const struct cs_view *destination, const struct cs_view *source) {
    struct resident from;
    CS_REQUIRE(destination->dtype != CS_E2M1 && source->dtype != CS_E2M1, CS_UNSUPPORTED, "%s: converting %s to %s is not supported",
               device->name, cs_dtype_name(source->dtype), cs_dtype_name(destination->dtype));
    if (cs_view_numel(destination) == 0) return CS_OK;
    CS_TRY(make_resident(device, source, &from));
    struct cs_gpu_convert job = {.walk = cs_gpu_walk_of(destination, &from.view), .to_dtype = destination->dtype, .from_dtype = source->dtype};
    job.to = bytes_of(destination);
    job.from = bytes_of(&from.view);
    enum cs_status status = backend_of(device)->convert(&job);
    resident_release(device, &from);
    return status;
}

static enum cs_status fill(const struct cs_device *device, const struct cs_fill *fills, size_t n) {
    return cs_gpu_fill_plan(backend_of(device), fills, n, cs_gpu_fill_batch);
}

static enum cs_status generate(const struct cs_device *device, const struct cs_view *destination, const struct cs_view *source) {
    const struct cs_content *content = &source->storage->content;
    if (cs_view_numel(destination) == 0) return CS_OK;
    if (content->kind == CS_CONTENT_ZERO || content->kind == CS_CONTENT_VALUE) {
        struct cs_fill one = {*destination, content->kind == CS_CONTENT_ZERO ? 0 : content->key};
        return fill(device, &one, 1);
    }
    struct cs_gpu_generate job = {.walk = cs_gpu_walk_of(destination, source), .content = *content, .to = bytes_of(destination)};
    struct cs_gpu_walk *walk = &job.walk;
    job.element_bits = walk->bits;
    if (content->as == CS_E2M1) job.content.as = CS_U8;
    bool keeps_pairs = walk->bits == 4 && walk->start[1] % 2 == 0 && walk->stride[1][0] == 1 && walk->extent[0].extent % 2 == 0;
    for (int d = 1; d < walk->ndim; d++) keeps_pairs = keeps_pairs && walk->stride[1][d] % 2 == 0;
    if (walk->bits == 4 && !keeps_pairs) return backend_of(device)->generate(&job);
    cs_gpu_walk_group(walk, address_of(destination), 0);
    if (job.element_bits == 4 && walk->group > 1) { /* from here on, its elements are pairs */
        job.element_bits = 8;
        walk->group /= 2;
        walk->start[1] /= 2;
        for (int d = 0; d < walk->ndim; d++) walk->stride[1][d] /= 2;
    }
    return backend_of(device)->generate(&job);
}

/* ---- relayout ---- */

/* A u8 view that stands for wider elements may begin anywhere: then it takes a copy that begins where elements do. */
static enum cs_status relayout_misaligned(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                                          unsigned char *to, const unsigned char *from) {
    int64_t size = plan->bits / 8;
    size_t from_bytes = (size_t)(n_matrices * plan->source_rows * plan->source_columns * size);
    size_t to_bytes = (size_t)(n_matrices * plan->rows * plan->columns * size), gap = (from_bytes + 15) / 16 * 16;
    const struct cs_gpu_backend *backend = backend_of(device);
    void *data;
    CS_TRY(allocate(device, gap + to_bytes, &data));
    unsigned char *source = data, *result_bytes = source + gap;
    enum cs_status status = backend->move(source, from, from_bytes);
    if (status == CS_OK) status = cs_gpu_relayout_run(backend, plan, n_matrices, result_bytes, source);
    if (status == CS_OK) status = backend->move(to, result_bytes, to_bytes);
    release(device, data, gap + to_bytes);
    return status;
}

static enum cs_status relayout_resident(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                                        const struct cs_view *destination, const struct cs_view *source) {
    unsigned char *to = bytes_of(destination) + cs_view_byte_offset(destination);
    const unsigned char *from = bytes_of(source) + cs_view_byte_offset(source);
    uintptr_t size = plan->bits < 8 ? 1 : (uintptr_t)plan->bits / 8;
    if ((uintptr_t)to % size || (uintptr_t)from % size) return relayout_misaligned(device, plan, n_matrices, to, from);
    return cs_gpu_relayout_run(backend_of(device), plan, n_matrices, to, from);
}

static enum cs_status relayout(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                               const struct cs_view *destination, const struct cs_view *source) {
    struct resident from;
    if (cs_view_numel(destination) == 0) return CS_OK;
    CS_TRY(make_resident(device, source, &from));
    enum cs_status status = relayout_resident(device, plan, n_matrices, destination, &from.view);
    resident_release(device, &from);
    return status;
}

/* ---- programs ---- */

/* The program, its HOST operands staged. */
struct resident_program {
    struct cs_program program;
    struct resident operand[CS_PROGRAM_OPERANDS];
};

static void program_release(const struct cs_device *device, struct resident_program *resident) {
    for (size_t i = 0; i < resident->program.n_operands; i++) resident_release(device, &resident->operand[i]);
}

static enum cs_status make_program_resident(const struct cs_device *device, const struct cs_program *program, struct resident_program *resident) {
    resident->program = *program;
    for (resident->program.n_operands = 0; resident->program.n_operands < program->n_operands; resident->program.n_operands++) {
        size_t i = resident->program.n_operands;
        enum cs_status status = make_resident(device, &program->operand[i].view, &resident->operand[i]);
        if (status != CS_OK) {
            program_release(device, resident);
            return status;
        }
        resident->program.operand[i].view = resident->operand[i].view;
    }
    return CS_OK;
}

static enum cs_status map(const struct cs_device *device, const struct cs_program *program, const struct cs_view *destination) {
    struct resident_program resident;
    CS_TRY(make_program_resident(device, program, &resident));
    enum cs_status status = cs_gpu_map_run(backend_of(device), &resident.program, destination);
    program_release(device, &resident);
    return status;
}

static enum cs_status maximum(const struct cs_device *device, const struct cs_program *program, const struct cs_operand *destination) {
    struct resident_program resident;
    CS_TRY(make_program_resident(device, program, &resident));
    enum cs_status status = cs_gpu_maximum_run(backend_of(device), &resident.program, destination);
    program_release(device, &resident);
    return status;
}

/* ---- compare, digest ---- */

static enum cs_status clear_results(const struct cs_device *device, size_t n) {
    const struct cs_gpu_backend *backend = backend_of(device);
    struct cs_gpu_tally **tally = &result[which(device)];
    if (!*tally) {
        void *data;
        CS_TRY(backend->allocate(CS_DIGESTS * sizeof **tally, &data));
        *tally = data;
    }
    return backend->set(*tally, 0, n * sizeof **tally);
}

static enum cs_status read_results(const struct cs_device *device, struct cs_gpu_tally *tally, size_t n) {
    return backend_of(device)->download(tally, result[which(device)], n * sizeof *tally);
}

static enum cs_status compare_resident(const struct cs_device *device, const struct cs_view *a, const struct cs_view *b,
                                       struct cs_difference *difference) {
    struct cs_gpu_tally tally;
    CS_TRY(clear_results(device, 1));
    struct cs_gpu_compare job = {cs_gpu_walk_of(a, b), bytes_of(a), bytes_of(b), cs_dtype_bits(a->dtype), result[which(device)]};
    cs_gpu_walk_group(&job.walk, address_of(a), address_of(b));
    CS_TRY(backend_of(device)->compare(&job));
    CS_TRY(read_results(device, &tally, 1));
    *difference = (struct cs_difference){.n_elements = (int64_t)tally.n, .first = tally.n ? (int64_t)~tally.last : -1};
    return CS_OK;
}

static enum cs_status compare(const struct cs_device *device, const struct cs_view *a, const struct cs_view *b, struct cs_difference *difference) {
    struct resident first, second;
    *difference = (struct cs_difference){.first = -1};
    if (cs_view_numel(a) == 0) return CS_OK;
    CS_TRY(make_resident(device, a, &first));
    enum cs_status status = make_resident(device, b, &second);
    if (status == CS_OK) {
        status = compare_resident(device, &first.view, &second.view, difference);
        resident_release(device, &second);
    }
    resident_release(device, &first);
    return status;
}

static struct cs_gpu_digest digest_job(const struct cs_view *view, struct cs_gpu_tally *tally) {
    struct cs_gpu_digest job = {.walk = cs_gpu_walk_of(view, NULL), .from = bytes_of(view), .tally = tally};
    job.n_bytes = ((uint64_t)job.walk.n * (uint64_t)job.walk.bits + 7) / 8;
    job.n_words = (int64_t)((job.n_bytes + 7) / 8);
    cs_gpu_walk_group(&job.walk, address_of(view), 0);
    return job;
}

static enum cs_status digest_resident(const struct cs_device *device, const struct cs_view *view, uint64_t *digest) {
    struct cs_gpu_tally tally;
    CS_TRY(clear_results(device, 1));
    struct cs_gpu_digest job = digest_job(view, result[which(device)]);
    CS_TRY(backend_of(device)->digest(&job, 1));
    CS_TRY(read_results(device, &tally, 1));
    *digest = tally.sum + cs_mix64(job.n_bytes);
    return CS_OK;
}

static enum cs_status digest(const struct cs_device *device, const struct cs_view *view, uint64_t *value) {
    struct resident from;
    *value = cs_mix64(0);
    if (cs_view_numel(view) == 0) return CS_OK;
    CS_TRY(make_resident(device, view, &from));
    enum cs_status status = digest_resident(device, &from.view, value);
    resident_release(device, &from);
    return status;
}

/* One wait for all. */
static enum cs_status digest_all(const struct cs_device *device, const struct cs_view *const *views, size_t n, uint64_t *digests) {
    struct cs_gpu_digest jobs[CS_DIGESTS] = {0};
    struct cs_gpu_tally tallies[CS_DIGESTS];
    CS_TRY(clear_results(device, n));
    for (size_t i = 0; i < n; i++)
        if (cs_view_numel(views[i]) > 0) jobs[i] = digest_job(views[i], result[which(device)] + i);
    CS_TRY(backend_of(device)->digest(jobs, n));
    CS_TRY(read_results(device, tallies, n));
    for (size_t i = 0; i < n; i++) digests[i] = tallies[i].sum + cs_mix64(jobs[i].n_bytes);
    return CS_OK;
}

static enum cs_status probe(const struct cs_device *device, enum cs_probe kind, void *data, size_t bytes,
                            size_t run_bytes, size_t pitch_bytes) {
    CS_TRY(clear_results(device, 1));
    size_t both = run_bytes | pitch_bytes | 16, unit = both & (~both + 1); /* its lowest bit */
    struct cs_gpu_probe job = {.kind = kind, .data = data, .unit_bits = (int)unit * 8, .n = (int64_t)(bytes / unit), .tally = result[which(device)]};
    job.pitch = pitch_bytes / unit;
    job.run = cs_gpu_divide_by(run_bytes ? (int64_t)(run_bytes / unit) : 1);
    if (run_bytes) job.n = (int64_t)(bytes / pitch_bytes * (run_bytes / unit));
    return backend_of(device)->probe(&job);
}

/* ---- graph ---- */

static void forget(const struct cs_device *device, void *graph_of_device) {
    struct cs_gpu_graph *graph = graph_of_device;
    if (graph->executable) backend_of(device)->forget(graph);
    release(device, graph->tallies, graph->n * sizeof *graph->tallies);
    release(device, graph->n_bytes, graph->n * sizeof *graph->n_bytes);
    release(device, graph->results, graph->n * sizeof *graph->results);
    free(graph->digests);
    free(graph);
}

static enum cs_status graph_allocate(const struct cs_device *device, struct cs_gpu_graph *graph) {
    void *data;
    CS_TRY(allocate(device, graph->n * sizeof *graph->tallies, &data));
    graph->tallies = data;
    CS_TRY(allocate(device, graph->n * sizeof *graph->n_bytes, &data));
    graph->n_bytes = data;
    CS_TRY(allocate(device, graph->n * sizeof *graph->results, &data));
    graph->results = data;
    return CS_OK;
}

static enum cs_status graph_make(const struct cs_device *device, struct cs_gpu_graph *graph, const struct cs_view *views) {
    uint64_t *n_bytes = graph->digests ? calloc(graph->n ? graph->n : 1, sizeof *n_bytes) : NULL;
    CS_REQUIRE(n_bytes, CS_NO_MEMORY, "%s: no host memory for a graph of %zu views", device->name, graph->n);
    enum cs_status status = graph_allocate(device, graph);
    for (size_t i = 0; status == CS_OK && i < graph->n; i++) {
        if (cs_view_numel(&views[i]) == 0) continue; /* no words: nothing is launched for it */
        graph->digests[i] = digest_job(&views[i], graph->tallies + i);
        n_bytes[i] = graph->digests[i].n_bytes;
    }
    if (status == CS_OK) status = upload(device, graph->n_bytes, n_bytes, graph->n * sizeof *n_bytes);
    if (status == CS_OK && graph->n) status = backend_of(device)->record(graph);
    free(n_bytes);
    return status;
}

static enum cs_status capture(const struct cs_device *device, const struct cs_view *views, size_t n, void **made) {
    *made = NULL;
    for (size_t i = 0; i < n; i++)
        CS_REQUIRE(views[i].storage->kind == CS_STORAGE_MEMORY, CS_UNSUPPORTED, "%s: a graph reads device memory only", device->name);
    struct cs_gpu_graph *graph = calloc(1, sizeof *graph);
    CS_REQUIRE(graph, CS_NO_MEMORY, "%s: no host memory for a graph", device->name);
    graph->n = n;
    graph->digests = calloc(n ? n : 1, sizeof *graph->digests);
    enum cs_status status = graph_make(device, graph, views);
    if (status != CS_OK) {
        forget(device, graph);
        return status;
    }
    *made = graph;
    return CS_OK;
}

static enum cs_status replay(const struct cs_device *device, void *made, uint64_t *digests) {
    const struct cs_gpu_graph *graph = made;
    if (graph->n == 0) return CS_OK;
    CS_TRY(backend_of(device)->play(graph));
    return backend_of(device)->download(digests, graph->results, graph->n * sizeof *digests);
}

#define CS_GPU_TABLE(name_, unavailable_, is_emulated_)                                                                              \
    {.name = name_, .is_emulated = is_emulated_, .unavailable = unavailable_, .allocate = allocate, .release = release, .upload = upload, .download = download,         \
     .generate = generate, .copy = copy, .convert = convert, .fill = fill, .relayout = relayout, .compare = compare, .digest = digest, .digest_all = digest_all,\
     .capture = capture, .replay = replay, .forget = forget, .map = map, .maximum = maximum, .probe = probe}

const struct cs_device cs_device_gpu = CS_GPU_TABLE("gpu", gpu_unavailable, false);
const struct cs_device cs_device_emu = CS_GPU_TABLE("emu", emu_unavailable, true);
