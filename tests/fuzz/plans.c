/* libFuzzer's entry: bytes become a plan, one byte for each axis, then the start, then pairs of step and checkpoint; the
 * oracle judges it. An illegal one must be refused. Whatever fails is printed as the plan that `coldstart fuzz` takes. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cs_fuzz_plan plan_of(const uint8_t *data, size_t size) {
    struct cs_fuzz_plan plan = {.seed = 1};
    size_t at = 0;
    for (int a = 0; a < CS_N_AXES && at < size; a++) plan.axis[a] = (uint8_t)(data[at++] % cs_axis((enum cs_axis_id)a)->n);
    if (at < size) plan.start = (uint8_t)(data[at++] % CS_PLAN_CHECKPOINTS);
    for (; at + 1 < size && plan.n_steps < CS_PLAN_STEPS; at += 2, plan.n_steps++)
        plan.step[plan.n_steps] = (struct cs_step_of_plan){.letter = (uint8_t)(data[at] % cs_n_letters()),
                                                           .checkpoint = (uint8_t)(data[at + 1] % CS_PLAN_CHECKPOINTS)};
    plan.axis[CS_AXIS_device] = 0; /* others are compared by campaigns */
    for (size_t i = 0; i < cs_axis(CS_AXIS_policy)->n; i++) /* the one that promises equality */
        if (cs_text_equal(cs_axis_value(CS_AXIS_policy, i), "record_and_fill")) plan.axis[CS_AXIS_policy] = (uint8_t)i;
    return plan;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct cs_fuzz_plan plan = plan_of(data, size);
    struct cs_arena arena = {0};
    struct cs_fuzz_result result;
    const struct cs_judge_options options = {0};
    omp_set_num_threads(1);
    enum cs_status status = cs_fuzz_judge(&plan, &options, &arena, &result);
    if (status != CS_OK || result.outcome == CS_FUZZ_FAILED) {
        char text[CS_PLAN_TEXT];
        fprintf(stderr, "%s\n%s\n", cs_fuzz_plan_text(&plan, text), status == CS_OK ? result.reason : cs_error_text());
        abort();
    }
    cs_arena_release(&arena);
    return 0;
}
