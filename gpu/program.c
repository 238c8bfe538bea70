/* Programs → jobs: operands become strides over the program's index, blocks become divisors. Dimensions move to the
 * end, so that the innermost one is always the last; those that the program does not have count one element each. */
#include "gpu/jobs.h"

#include <string.h>

static const int64_t ones[CS_NDIM] = {1, 1, 1, 1, 1, 1};

static struct cs_gpu_place place_of(const struct cs_program *program, const struct cs_view *view,
                                    const int64_t *block) {
    struct cs_gpu_place place = {
        .data = view->storage->data, .dtype = view->dtype, .bits = cs_dtype_bits(view->dtype), .start = view->offset};
    int unused = CS_NDIM - program->ndim;
    place.first = unused;
    for (int d = 0; d < CS_NDIM; d++) {
        bool is_used = d >= unused;
        place.stride[d] = is_used ? view->stride[d - unused] : 0;
        place.block[d] = cs_gpu_divide_by(is_used ? block[d - unused] : 1);
        place.has_blocks = place.has_blocks || (is_used && block[d - unused] > 1);
    }
    return place;
}

static void set_shape(struct cs_gpu_divisor *extent, int ndim, const int64_t *shape) {
    for (int d = 0; d < CS_NDIM; d++)
        extent[d] = cs_gpu_divide_by(d < CS_NDIM - ndim ? 1 : shape[d - (CS_NDIM - ndim)]);
}

/* Rows are cut into groups; returns how many there are of them. */
static int64_t set_groups(struct cs_gpu_divisor *groups, int ndim, const int64_t *shape) {
    int64_t columns = shape[ndim - 1], in_row = columns / CS_GPU_GROUP + (columns % CS_GPU_GROUP != 0), n = in_row;
    set_shape(groups, ndim, shape);
    groups[CS_NDIM - 1] = cs_gpu_divide_by(in_row);
    for (int d = 0; d < ndim - 1; d++) n *= shape[d];
    return n;
}

static struct cs_gpu_program program_of(const struct cs_program *program) {
    struct cs_gpu_program job = {.n_instructions = (int)program->n_instructions};
    for (size_t i = 0; i < program->n_operands; i++)
        job.operand[i] = place_of(program, &program->operand[i].view, program->operand[i].block);
    for (size_t i = 0; i < program->n_instructions; i++) job.instruction[i] = program->instruction[i];
    return job;
}

enum cs_status cs_gpu_map_run(const struct cs_gpu_backend *backend, const struct cs_program *program,
                              const struct cs_view *destination) {
    struct cs_gpu_map job = {.program = program_of(program),
                             .to = place_of(program, destination, ones),
                             .columns = program->shape[program->ndim - 1]};
    job.n_groups = set_groups(job.groups, program->ndim, program->shape);
    return backend->map(&job);
}

/* ---- maximum ---- */

static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* A box is what lies behind one element of the destination. Lanes of a block share one: as many as it has groups, up to
 * all. */
static enum cs_status maximum_once(const struct cs_gpu_backend *backend, const struct cs_program *program,
                                   const struct cs_operand *destination) {
    const struct cs_view *view = &destination->view;
    int unused = CS_NDIM - program->ndim;
    int64_t box[CS_NDIM];
    struct cs_gpu_maximum job = {
        .program = program_of(program), .to = place_of(program, view, ones), .n = cs_view_numel(view), .lanes = 1};
    for (int d = 0; d < CS_NDIM; d++) {
        bool is_used = d >= unused;
        job.block[d] = is_used ? destination->block[d - unused] : 1;
        job.shape[d] = is_used ? program->shape[d - unused] : 1;
    }
    job.has_sizes =
        program->n_instructions > 0 && program->instruction[program->n_instructions - 1].code == CS_CODE_ABSOLUTE;
    for (int d = 0; d < program->ndim; d++) box[d] = at_most(destination->block[d], program->shape[d]);
    job.columns = box[program->ndim - 1];
    job.n_groups = set_groups(job.groups, program->ndim, box);
    set_shape(job.extent, program->ndim, view->shape);
    while (job.lanes < CS_GPU_THREADS && job.lanes < job.n_groups) job.lanes *= 2;
    return backend->maximum(&job);
}

enum { ENOUGH_BOXES = 1024, LEAST_PART = 1 << 15 }; /* to keep all multiprocessors busy; elements of a part of a box */

/* Few large boxes, each the whole of some dimension, are cut along the first of these: into how many parts, and where.
 */
static int64_t parts_of(const struct cs_program *program, const struct cs_operand *destination, int *cut) {
    int64_t elements = 1, n = cs_view_numel(&destination->view), parts;
    for (int d = 0; d < program->ndim; d++) elements *= at_most(destination->block[d], program->shape[d]);
    for (*cut = 0; *cut < program->ndim - 1; ++*cut)
        if (destination->view.shape[*cut] == 1 && program->shape[*cut] > 1) break;
    bool can_cut = destination->view.shape[*cut] == 1 && n > 0;
    parts = can_cut ? at_most(at_most(ENOUGH_BOXES / n, elements / LEAST_PART), program->shape[*cut]) : 1;
    return parts > 1 ? parts : 1;
}

/* The maximum of each part, as it was computed; then of these, in their order. */
static enum cs_status maximum_of_parts(const struct cs_gpu_backend *backend, const struct cs_program *program,
                                       const struct cs_operand *destination, int cut, int64_t n_parts) {
    struct cs_storage storage = {.kind = CS_STORAGE_MEMORY, .label = "maxima of parts"};
    struct cs_operand parts = *destination, whole = *destination;
    struct cs_program last = {.ndim = program->ndim, .n_operands = 1, .n_instructions = 1};
    last.instruction[0] = (struct cs_instruction){.code = CS_CODE_LOAD};
    parts.block[cut] = (program->shape[cut] + n_parts - 1) / n_parts;
    memcpy(last.shape, destination->view.shape, sizeof last.shape);
    last.shape[cut] = (program->shape[cut] + parts.block[cut] - 1) / parts.block[cut];
    CS_TRY(cs_view_make(&parts.view, &storage, CS_F32, program->ndim, last.shape));
    last.operand[0].view = parts.view;
    for (int d = 0; d < CS_NDIM; d++) last.operand[0].block[d] = whole.block[d] = 1;
    whole.block[cut] = last.shape[cut];
    storage.bytes = (size_t)cs_view_numel(&parts.view) * sizeof(float);
    CS_TRY(backend->allocate(storage.bytes, &storage.data));
    enum cs_status status = maximum_once(backend, program, &parts);
    if (status == CS_OK) status = maximum_once(backend, &last, &whole);
    backend->release(storage.data);
    return status;
}

enum cs_status cs_gpu_maximum_run(const struct cs_gpu_backend *backend, const struct cs_program *program,
                                  const struct cs_operand *destination) {
    int cut;
    int64_t n_parts = parts_of(program, destination, &cut);
    return n_parts > 1 ? maximum_of_parts(backend, program, destination, cut, n_parts)
                       : maximum_once(backend, program, destination);
}
