/* Known programs → jobs: finds the row, and asks whether the operands lie as its kernel expects. */
#include "gpu/jobs.h"

enum { GROUP = CS_GPU_KNOWN_GROUP, DIMS = CS_GPU_KNOWN_DIMS };

/* ---- the row ---- */

static bool is_row(const struct cs_gpu_known_program *row, const struct cs_program *program) {
    if ((size_t)row->n_operands != program->n_operands || (size_t)row->n_instructions != program->n_instructions) return false;
    for (size_t i = 0; i < program->n_operands; i++)
        if (row->operand[i] != program->operand[i].view.dtype) return false;
    for (size_t i = 0; i < program->n_instructions; i++) {
        const struct cs_instruction *instruction = &program->instruction[i];
        if (row->instruction[i].code != instruction->code || row->instruction[i].operand != instruction->operand) return false;
        bool has_dtype = instruction->code == CS_CODE_ROUND || instruction->code == CS_CODE_ENCODE;
        if (has_dtype && row->instruction[i].dtype != instruction->dtype) return false;
    }
    return true;
}

static void set_ones(struct cs_gpu_divisor *extent) {
    for (int d = 0; d < DIMS; d++) extent[d] = cs_gpu_divide_by(1);
}

static void set_numbers(struct cs_gpu_known *job, const struct cs_program *program) {
    job->ndim = program->ndim;
    for (size_t i = 0; i < program->n_instructions; i++) job->number[i] = program->instruction[i].bits;
}

/* ---- where operands lie ---- */

static void set_place(struct cs_gpu_known_place *place, const struct cs_view *view) {
    *place = (struct cs_gpu_known_place){.data = view->storage->data, .start = view->offset};
    set_ones(place->block);
}

/* Whole groups, each at a multiple of its size, or of 16 bytes. */
static bool set_dense(struct cs_gpu_known_place *place, const struct cs_view *view, const int64_t *block) {
    int inner = view->ndim - 1;
    uintptr_t group_bytes = (uintptr_t)cs_dtype_bits(view->dtype) * GROUP / 8;
    bool is_dense = view->stride[inner] == 1 && view->offset % GROUP == 0;
    is_dense = is_dense && (uintptr_t)view->storage->data % (group_bytes < 16 ? group_bytes : 16) == 0;
    set_place(place, view);
    for (int d = 0; d <= inner; d++) {
        is_dense = is_dense && (!block || block[d] == 1) && (d == inner || view->stride[d] % GROUP == 0);
        place->stride[inner - d] = d == inner ? GROUP : view->stride[d];
    }
    return is_dense;
}

/* One number for each group. */
static bool set_spread(struct cs_gpu_known_place *place, const struct cs_operand *operand) {
    const struct cs_view *view = &operand->view;
    int inner = view->ndim - 1;
    bool is_single = view->shape[inner] == 1 || view->stride[inner] == 0;
    set_place(place, view);
    for (int d = 0; d <= inner; d++) {
        bool is_block = view->shape[d] > 1 && operand->block[d] > (d == inner ? GROUP : 1);
        place->stride[inner - d] = view->shape[d] > 1 ? view->stride[d] : 0;
        if (is_block) place->block[inner - d] = cs_gpu_divide_by(operand->block[d] / (d == inner ? GROUP : 1));
    }
    return is_single || operand->block[inner] % GROUP == 0;
}

static bool set_operands(struct cs_gpu_known *job, const struct cs_program *program) {
    for (size_t i = 0; i < program->n_operands; i++) {
        const struct cs_operand *operand = &program->operand[i];
        struct cs_gpu_known_place *place = &job->operand[i];
        if (!(i == 0 ? set_dense(place, &operand->view, operand->block) : set_spread(place, operand))) return false;
    }
    return true;
}

/* Rows of whole groups, few enough for indices of 32 bits. */
static bool fits(const struct cs_program *program) {
    int64_t n = 1;
    for (int d = 0; d < program->ndim; d++) n *= program->shape[d];
    return program->ndim <= DIMS && program->shape[program->ndim - 1] % GROUP == 0 && !cs_gpu_is_wide(n / GROUP);
}

/* ---- jobs ---- */

bool cs_gpu_known_map_plan(struct cs_gpu_known_map *job, const struct cs_program *program, const struct cs_view *destination) {
    *job = (struct cs_gpu_known_map){.n_groups = 1};
    int id = 0, inner = program->ndim - 1;
    while (id < CS_GPU_N_KNOWN_MAPS && (cs_gpu_known_maps[id].to != destination->dtype || !is_row(&cs_gpu_known_maps[id], program))) id++;
    if (id == CS_GPU_N_KNOWN_MAPS || !fits(program)) return false;
    job->id = (enum cs_gpu_known_map_id)id;
    set_numbers(&job->program, program);
    set_ones(job->extent);
    for (int d = 0; d <= inner; d++) {
        int64_t extent = d == inner ? program->shape[d] / GROUP : program->shape[d];
        job->extent[inner - d] = cs_gpu_divide_by(extent);
        job->n_groups *= (uint32_t)extent;
    }
    return set_operands(&job->program, program) && set_dense(&job->to, destination, NULL);
}

/* Lanes take two groups at least, so that telling each other costs less than reading. */
static void set_boxes(struct cs_gpu_known_maximum *job, const struct cs_program *program, const struct cs_operand *destination) {
    int inner = program->ndim - 1;
    job->n = job->n_groups = job->lanes = 1;
    set_ones(job->extent);
    set_ones(job->groups);
    for (int d = 0; d < DIMS; d++) job->block[d] = job->shape[d] = 1;
    for (int d = 0; d <= inner; d++) {
        int64_t unit = d == inner ? GROUP : 1, shape = program->shape[d], block = destination->block[d];
        if (block > shape) block = shape;
        job->block[inner - d] = (uint32_t)(block / unit);
        job->shape[inner - d] = (uint32_t)(shape / unit);
        job->groups[inner - d] = cs_gpu_divide_by(block / unit);
        job->extent[inner - d] = cs_gpu_divide_by(destination->view.shape[d]);
        job->stride[inner - d] = destination->view.stride[d];
        job->n_groups *= job->block[inner - d];
        job->n *= (uint32_t)destination->view.shape[d];
    }
    while (job->lanes < CS_GPU_THREADS && 4 * job->lanes <= job->n_groups) job->lanes *= 2;
}

bool cs_gpu_known_maximum_plan(struct cs_gpu_known_maximum *job, const struct cs_program *program, const struct cs_operand *destination) {
    const struct cs_view *view = &destination->view;
    *job = (struct cs_gpu_known_maximum){.to = view->storage->data, .to_dtype = view->dtype, .start = view->offset};
    int id = 0, inner = program->ndim - 1;
    while (id < CS_GPU_N_KNOWN_MAXIMA && !is_row(&cs_gpu_known_maxima[id], program)) id++;
    if (id == CS_GPU_N_KNOWN_MAXIMA || !fits(program)) return false;
    if (destination->block[inner] % GROUP != 0 && destination->block[inner] < program->shape[inner]) return false;
    job->id = (enum cs_gpu_known_maximum_id)id;
    set_numbers(&job->program, program);
    set_boxes(job, program, destination);
    return set_operands(&job->program, program);
}
