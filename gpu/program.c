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

static int64_t n_interpreted;

int64_t cs_gpu_interpreted(void) { return __atomic_load_n(&n_interpreted, __ATOMIC_RELAXED); }

static void count_interpreted(const struct cs_program *program) {
    int64_t n = 1;
    for (int d = 0; d < program->ndim; d++) n *= program->shape[d];
    __atomic_fetch_add(&n_interpreted, n, __ATOMIC_RELAXED);
}

/* ---- fewer dimensions ---- */

/* Whether dimensions d and d + 1 of an operand count on as one: all of the inner one is one element, or it lies where
 * the outer one goes on. */
static bool counts_on(const struct cs_operand *operand, const int64_t *shape, int d) {
    int64_t inner = shape[d + 1], block = operand->block[d + 1], stride = operand->view.stride[d + 1];
    if (shape[d] == 1 || block >= inner) return true;
    return operand->block[d] == 1 && inner % block == 0 && operand->view.stride[d] == stride * (inner / block);
}

static void merge_operand(struct cs_operand *operand, const int64_t *shape, int d) {
    struct cs_view *view = &operand->view;
    int64_t inner = shape[d + 1], n = shape[d] * inner;
    if (shape[d] > 1 && operand->block[d + 1] >= inner) {
        int64_t outer = operand->block[d] < shape[d] ? operand->block[d] : shape[d];
        operand->block[d] = outer * inner;
    } else {
        operand->block[d] = operand->block[d + 1];
        view->stride[d] = view->stride[d + 1];
    }
    view->shape[d] = (n + operand->block[d] - 1) / operand->block[d];
    for (int i = d + 1; i + 1 < view->ndim; i++) {
        operand->block[i] = operand->block[i + 1];
        view->shape[i] = view->shape[i + 1];
        view->stride[i] = view->stride[i + 1];
    }
    view->ndim--;
}

/* Joins dimensions that all operands and the destination allow to. Indices keep their order. */
static void merge(struct cs_program *program, struct cs_operand *destination) {
    for (int d = program->ndim - 2; d >= 0; d--) {
        bool can = counts_on(destination, program->shape, d);
        for (size_t i = 0; i < program->n_operands; i++) can = can && counts_on(&program->operand[i], program->shape, d);
        if (!can) continue;
        merge_operand(destination, program->shape, d);
        for (size_t i = 0; i < program->n_operands; i++) merge_operand(&program->operand[i], program->shape, d);
        program->shape[d] *= program->shape[d + 1];
        for (int i = d + 1; i + 1 < program->ndim; i++) program->shape[i] = program->shape[i + 1];
        program->ndim--;
    }
}

/* ---- maps ---- */

enum cs_status cs_gpu_map_run(const struct cs_gpu_backend *backend, const struct cs_program *given,
                              const struct cs_view *destination) {
    struct cs_program program = *given;
    struct cs_operand to = {.view = *destination};
    struct cs_gpu_known_map known;
    memcpy(to.block, ones, sizeof to.block);
    merge(&program, &to);
    if (cs_gpu_known_map_plan(&known, &program, &to.view)) return backend->known_map(&known);
    struct cs_gpu_map job = {.program = program_of(&program),
                             .to = place_of(&program, &to.view, ones),
                             .columns = program.shape[program.ndim - 1]};
    job.n_groups = set_groups(job.groups, program.ndim, program.shape);
    count_interpreted(&program);
    return backend->map(&job);
}

/* ---- maximum ---- */

static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* A box is what lies behind one element of the destination. Lanes of a block share one: as many as it has groups, up to
 * all. */
static enum cs_status maximum_once(const struct cs_gpu_backend *backend, const struct cs_program *program,
                                   const struct cs_operand *destination) {
    const struct cs_view *view = &destination->view;
    struct cs_gpu_known_maximum known;
    int unused = CS_NDIM - program->ndim;
    int64_t box[CS_NDIM];
    if (cs_gpu_known_maximum_plan(&known, program, destination)) return backend->known_maximum(&known);
    count_interpreted(program);
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

/* Few large boxes are cut along the first dimension in which they have several elements: where, and the block of a part.
 * Parts of many boxes divide these; of a single one, the last may be shorter. Whole groups, in the innermost dimension. */
static int64_t part_of(const struct cs_program *program, const struct cs_operand *destination, int *cut) {
    int64_t elements = 1, n = cs_view_numel(&destination->view);
    for (int d = 0; d < program->ndim; d++) elements *= at_most(destination->block[d], program->shape[d]);
    for (*cut = 0; *cut < program->ndim - 1 && at_most(destination->block[*cut], program->shape[*cut]) == 1;) ++*cut;
    int64_t extent = program->shape[*cut], block = at_most(destination->block[*cut], extent);
    int64_t unit = *cut == program->ndim - 1 ? CS_GPU_KNOWN_GROUP : 1, n_parts = n > 0 ? ENOUGH_BOXES / n : 1;
    n_parts = at_most(n_parts, elements / LEAST_PART);
    if (n_parts < 2) return block;
    if (destination->view.shape[*cut] == 1) return at_most(((block + n_parts - 1) / n_parts + unit - 1) / unit * unit, block);
    while (n_parts > 1 && block % (n_parts * unit) != 0) n_parts--;
    return block / n_parts;
}

/* The maximum of each part, as it was computed; then of these, in their order. */
static enum cs_status maximum_of_parts(const struct cs_gpu_backend *backend, const struct cs_program *program,
                                       const struct cs_operand *destination, int cut, int64_t part) {
    struct cs_storage storage = {.kind = CS_STORAGE_MEMORY, .label = "maxima of parts"};
    struct cs_operand parts = *destination, whole = *destination;
    struct cs_program last = {.ndim = program->ndim, .n_operands = 1, .n_instructions = 1};
    last.instruction[0] = (struct cs_instruction){.code = CS_CODE_LOAD};
    memcpy(last.shape, destination->view.shape, sizeof last.shape);
    last.shape[cut] = (program->shape[cut] + part - 1) / part;
    CS_TRY(cs_view_make(&parts.view, &storage, CS_F32, program->ndim, last.shape));
    last.operand[0].view = parts.view;
    for (int d = 0; d < CS_NDIM; d++) last.operand[0].block[d] = whole.block[d] = 1;
    whole.block[cut] = (at_most(destination->block[cut], program->shape[cut]) + part - 1) / part;
    parts.block[cut] = part;
    storage.bytes = (size_t)cs_view_numel(&parts.view) * sizeof(float);
    CS_TRY(backend->allocate(storage.bytes, &storage.data));
    enum cs_status status = maximum_once(backend, program, &parts);
    if (status == CS_OK) status = maximum_once(backend, &last, &whole);
    backend->release(storage.data);
    return status;
}

enum cs_status cs_gpu_maximum_run(const struct cs_gpu_backend *backend, const struct cs_program *given,
                                  const struct cs_operand *destination) {
    struct cs_program program = *given;
    struct cs_operand to = *destination;
    int cut;
    merge(&program, &to);
    int64_t part = part_of(&program, &to, &cut);
    return part < at_most(to.block[cut], program.shape[cut]) ? maximum_of_parts(backend, &program, &to, cut, part)
                                                            : maximum_once(backend, &program, &to);
}
