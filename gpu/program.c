/* Programs → jobs: operands become strides over the program's index, blocks become divisors. Dimensions move to the
 * end, so that the innermost one is always the last; those that the program does not have count one element each. */
#include "gpu/jobs.h"

#include <string.h>

static struct cs_gpu_place place_of(const struct cs_program *program, const struct cs_view *view,
                                    const int64_t *block) {
    struct cs_gpu_place place = {
        .data = view->storage->data, .dtype = view->dtype, .bits = cs_dtype_bits(view->dtype), .start = view->offset};
    int unused = CS_NDIM - program->ndim;
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
    static const int64_t ones[CS_NDIM] = {1, 1, 1, 1, 1, 1};
    struct cs_gpu_map job = {.program = program_of(program),
                             .to = place_of(program, destination, ones),
                             .columns = program->shape[program->ndim - 1]};
    job.n_groups = set_groups(job.groups, program->ndim, program->shape);
    return backend->map(&job);
}

/* A box is what lies behind one element of the destination. Lanes of a block share one: as many as it has groups, up to
 * all. */
enum cs_status cs_gpu_maximum_run(const struct cs_gpu_backend *backend, const struct cs_program *program,
                                  const struct cs_operand *destination) {
    static const int64_t ones[CS_NDIM] = {1, 1, 1, 1, 1, 1};
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
    for (int d = 0; d < program->ndim; d++)
        box[d] = destination->block[d] < program->shape[d] ? destination->block[d] : program->shape[d];
    job.columns = box[program->ndim - 1];
    job.n_groups = set_groups(job.groups, program->ndim, box);
    set_shape(job.extent, program->ndim, view->shape);
    while (job.lanes < CS_GPU_THREADS && job.lanes < job.n_groups) job.lanes *= 2;
    return backend->maximum(&job);
}
