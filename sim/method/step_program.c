/* Steps that compute: programs (sim/device/device.h) over values. */
#include "sim/method/steps.h"

#include <string.h>

/* ---- operands ---- */

/* Elements of `whole` that share one of `part`; the run's blocks stand for the last two dimensions. */
static int64_t block_of(const struct cs_post_load *run, int ndim, int d, int64_t whole, int64_t part) {
    int64_t declared = d >= ndim - 2 && ndim >= 2 ? run->block[d - (ndim - 2)] : 0;
    if (part == whole) return 1;
    if (part <= 1) return whole;
    if (declared > 0 && (whole + declared - 1) / declared == part) return declared;
    return (whole + part - 1) / part;
}

/* The view with ones behind its dimensions; 0 dimensions count as one. */
static enum cs_status operand_of(const struct cs_post_load *run, const struct cs_program *program,
                                 const struct cs_view *view, struct cs_operand *operand) {
    char text[CS_VIEW_TEXT];
    CS_REQUIRE(view->ndim <= program->ndim, CS_BAD_SHAPE, "%s has more dimensions than the %d of the program",
               cs_view_text(view, text), program->ndim);
    operand->view = *view;
    for (int d = 0; d < program->ndim; d++) {
        if (d >= view->ndim) operand->view.shape[d] = 1, operand->view.stride[d] = 0;
        operand->block[d] = block_of(run, program->ndim, d, program->shape[d], operand->view.shape[d]);
        if (operand->block[d] < 1) operand->block[d] = 1;
    }
    operand->view.ndim = program->ndim;
    return CS_OK;
}

static enum cs_status name_text(struct cs_post_load *run, const struct cs_program_name *name, const char **text) {
    *text = cs_arena_format(run->module->rank->arena, "%.*s", (int)name->length, name->start);
    CS_REQUIRE(*text, CS_NO_MEMORY, "out of memory for a name");
    return CS_OK;
}

/* `shape`: what the program runs over; NULL: what its first operand has. */
static enum cs_status prepare(struct cs_post_load *run, const struct cs_step *step, const char *shape,
                              struct cs_program *program) {
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    struct cs_view views[CS_PROGRAM_OPERANDS];
    CS_TRY(cs_program_parse(step->text, program, names));
    for (size_t i = 0; i < program->n_operands; i++) {
        const char *name;
        CS_TRY(name_text(run, &names[i], &name));
        CS_TRY(cs_steps_value(run, name, &views[i]));
    }
    CS_REQUIRE(shape || program->n_operands > 0, CS_BAD_VALUE, "the program \"%s\" has no shape", step->text);
    if (shape) {
        CS_TRY(cs_steps_shape(run, shape, &program->ndim, program->shape));
    } else {
        program->ndim = views[0].ndim;
        memcpy(program->shape, views[0].shape, sizeof program->shape);
    }
    if (program->ndim == 0) program->shape[program->ndim++] = 1;
    for (size_t i = 0; i < program->n_operands; i++) CS_TRY(operand_of(run, program, &views[i], &program->operand[i]));
    return CS_OK;
}

static void note(struct cs_post_load *run, const struct cs_step *step, const struct cs_program *program,
                 const struct cs_view *result) {
    struct cs_log_entry entry = {
        .kind = CS_LOG_CONVERT, .who = step->text, .what = step->param, .destination = *result};
    if (program->n_operands > 0) entry.source = program->operand[0].view, entry.has_source = true;
    cs_log_note(run->module->rank->log, &entry);
}

/* ---- steps ---- */

/* A value of one element computed from ones without dimensions has none either. */
static bool is_scalar(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_program program;
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    struct cs_view view;
    const char *name;
    return !step->shape && cs_program_parse(step->text, &program, names) == CS_OK && program.n_operands > 0 &&
           name_text(run, &names[0], &name) == CS_OK && cs_steps_value(run, name, &view) == CS_OK && view.ndim == 0;
}

enum cs_status cs_step_map(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_program program;
    struct cs_view layout, result;
    CS_TRY(prepare(run, step, step->shape, &program));
    CS_TRY(cs_view_make(&layout, NULL, step->dtype, program.ndim, program.shape));
    CS_TRY(cs_rank_allocate_result(run->module->rank, &layout, step->param, &result));
    CS_TRY(cs_device_map(run->module->rank->device, &program, &result));
    note(run, step, &program, &result);
    if (is_scalar(run, step)) result.ndim = 0;
    return cs_steps_set(run, step->param, &result, NULL);
}

enum cs_status cs_step_update(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_program program;
    struct cs_view result;
    CS_TRY(prepare(run, step, NULL, &program));
    CS_TRY(cs_steps_value(run, step->param, &result));
    if (result.ndim == 0) result.ndim = 1, result.shape[0] = 1, result.stride[0] = 1;
    CS_TRY(cs_device_map(run->module->rank->device, &program, &result));
    note(run, step, &program, &result);
    return CS_OK;
}

enum cs_status cs_step_maximum(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_program program;
    struct cs_view layout, result;
    struct cs_operand destination;
    int ndim;
    int64_t shape[CS_NDIM];
    CS_TRY(prepare(run, step, NULL, &program));
    CS_TRY(cs_steps_shape(run, step->shape, &ndim, shape));
    enum cs_dtype dtype = step->dtype == CS_SAME_DTYPE ? program.operand[0].view.dtype : step->dtype;
    CS_TRY(cs_view_make(&layout, NULL, dtype, ndim, shape));
    CS_TRY(cs_rank_allocate_result(run->module->rank, &layout, step->param, &result));
    CS_TRY(operand_of(run, &program, &result, &destination));
    CS_TRY(cs_device_maximum(run->module->rank->device, &program, &destination));
    note(run, step, &program, &result);
    return cs_steps_set(run, step->param, &result, NULL);
}

enum cs_status cs_step_all_reduce(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_view value;
    CS_TRY(cs_steps_value(run, step->param, &value));
    CS_TRY(cs_all_reduce_max(run->module, step->param, &value));
    cs_log_note(run->module->rank->log, &(struct cs_log_entry){.kind = CS_LOG_CONVERT,
                                                               .who = "the largest over all ranks",
                                                               .what = step->param,
                                                               .destination = value});
    return CS_OK;
}
