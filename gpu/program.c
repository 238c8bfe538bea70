/* Programs → jobs: operands become strides over the program's index, blocks become divisors. */
#include "gpu/jobs.h"

#include <string.h>

static struct cs_gpu_place place_of(const struct cs_program *program, const struct cs_view *view, const int64_t *block) {
    struct cs_gpu_place place = {.data = view->storage->data, .dtype = view->dtype, .bits = cs_dtype_bits(view->dtype), .start = view->offset};
    for (int d = 0; d < CS_NDIM; d++) {
        bool is_used = d < program->ndim;
        place.stride[d] = is_used ? view->stride[d] : 0;
        place.block[d] = cs_gpu_divide_by(is_used ? block[d] : 1);
        place.has_blocks = place.has_blocks || (is_used && block[d] > 1);
    }
    return place;
}

/* Dimensions that the program does not have count one element each. */
static void set_shape(struct cs_gpu_divisor *extent, int ndim, const int64_t *shape) {
    for (int d = 0; d < CS_NDIM; d++) extent[d] = cs_gpu_divide_by(d < ndim ? shape[d] : 1);
}

static struct cs_gpu_program program_of(const struct cs_program *program) {
    struct cs_gpu_program job = {.n_instructions = (int)program->n_instructions};
    for (size_t i = 0; i < program->n_operands; i++) job.operand[i] = place_of(program, &program->operand[i].view, program->operand[i].block);
    for (size_t i = 0; i < program->n_instructions; i++) job.instruction[i] = program->instruction[i];
    return job;
}

enum cs_status cs_gpu_map_run(const struct cs_gpu_backend *backend, const struct cs_program *program, const struct cs_view *destination) {
    static const int64_t ones[CS_NDIM] = {1, 1, 1, 1, 1, 1};
    struct cs_gpu_map job = {.program = program_of(program), .to = place_of(program, destination, ones), .n = cs_view_numel(destination)};
    set_shape(job.extent, program->ndim, program->shape);
    return backend->map(&job);
}

/* A box is what lies behind one element of the destination. Lanes of a block share one: as many as it has elements, up to all. */
enum cs_status cs_gpu_maximum_run(const struct cs_gpu_backend *backend, const struct cs_program *program, const struct cs_operand *destination) {
    static const int64_t ones[CS_NDIM] = {1, 1, 1, 1, 1, 1};
    const struct cs_view *view = &destination->view;
    int64_t box[CS_NDIM];
    struct cs_gpu_maximum job = {.program = program_of(program), .to = place_of(program, view, ones), .n = cs_view_numel(view), .n_box = 1, .lanes = 1};
    for (int d = 0; d < CS_NDIM; d++) {
        bool is_used = d < program->ndim;
        box[d] = !is_used ? 1 : destination->block[d] < program->shape[d] ? destination->block[d] : program->shape[d];
        job.block[d] = is_used ? destination->block[d] : 1;
        job.shape[d] = is_used ? program->shape[d] : 1;
        job.n_box *= box[d];
    }
    set_shape(job.extent, program->ndim, view->shape);
    set_shape(job.box, program->ndim, box);
    while (job.lanes < CS_GPU_THREADS && job.lanes < job.n_box) job.lanes *= 2;
    return backend->maximum(&job);
}
