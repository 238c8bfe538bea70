/* Everything that cs_scenario_check refuses, one row for each rule: a good scenario, one thing made wrong, the line that is blamed and
 * what the message must say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support_session.h"

/* ---- good scenarios: cold start on line 2, reload on line 3, expectation on line 4 ---- */

struct written {
    struct cs_scenario scenario;
    struct cs_op ops[4];
    struct cs_expected expected;
    struct cs_checkpoint_config checkpoints[3];
    const char *policy;
    struct cs_toy_call call;
    struct cs_toy_load load;
    struct cs_toy_box mark;
    struct cs_step step;
    double values[4];
};

static void write_plan(struct written *w) {
    w->policy = "none";
    w->scenario.n_policies = 1, w->scenario.policies = &w->policy;
    w->expected = (struct cs_expected){.is_equal = true};
    w->ops[0] = (struct cs_op){.kind = CS_OP_COLD_START, .line = 2, .driver = "cold_start", .checkpoint = "A"};
    w->ops[1] = (struct cs_op){.kind = CS_OP_RELOAD, .line = 3, .driver = "layerwise", .checkpoint = "A"};
    w->ops[2] = (struct cs_op){.kind = CS_OP_EXPECT, .line = 4, .n_expected = 1, .expected = &w->expected};
    w->scenario.n_ops = 3, w->scenario.ops = w->ops;
}

static void write_gpt_oss(struct written *w) {
    *w = (struct written){.scenario = gpt_oss_scenario()};
    write_plan(w);
    memcpy(w->checkpoints, w->scenario.checkpoints, sizeof w->checkpoints);
    w->scenario.checkpoints = w->checkpoints;
}

static const struct cs_template_tensor toy_p[] = {{.name = "p", .shape = "4 2", .kind = CS_PARAMETER, .dtype = CS_F32, .init = CS_INIT_ZEROS}};

/* p is [4, 2]; the load, on line 7, writes rows 0 and 1 and marks row 3. */
static void write_toy(struct written *w) {
    *w = (struct written){.mark = {{3, 0}, {1, 2}}, .values = {1, 2, 3, 4}};
    w->call = (struct cs_toy_call){.param = "p", .has_write = true, .write = {{0, 0}, {2, 2}}, .n_values = 4, .values = w->values, .n_marks = 1,
                                   .marks = &w->mark, .line = 7};
    w->load = (struct cs_toy_load){"A", 1, &w->call};
    w->scenario = toy_scenario(toy_p, 1, &w->load, 1);
    w->step = (struct cs_step){.kind = CS_STEP_RELAYOUT, .param = "p", .chain = {"shuffle16"}};
    w->scenario.model.n_toy_steps = 1, w->scenario.model.toy_steps = &w->step;
    write_plan(w);
    memcpy(w->checkpoints, w->scenario.checkpoints, sizeof w->checkpoints);
    w->scenario.checkpoints = w->checkpoints;
}

static void good_scenarios_pass(void **state) {
    (void)state;
    struct written w;
    write_gpt_oss(&w);
    assert_ok(cs_scenario_check(&w.scenario));
    write_toy(&w);
    assert_ok(cs_scenario_check(&w.scenario));
    w.step.kind = CS_STEP_CONSTANT, w.step.param = "alpha"; /* a constant is no parameter */
    assert_ok(cs_scenario_check(&w.scenario));
}

/* ---- what is made wrong ---- */

struct row {
    void (*spoil)(struct written *w);
    int line;
    const char *said;
};

static void assert_refused(void (*write)(struct written *w), const struct row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct written w;
        char place[32];
        write(&w);
        rows[i].spoil(&w);
        enum cs_status status = cs_scenario_check(&w.scenario);
        if (status != CS_BAD_SCRIPT) fail_msg("row %zu, \"%s\": %s", i, rows[i].said, cs_status_name(status));
        snprintf(place, sizeof place, "s.lua:%d: ", rows[i].line);
        if (strncmp(cs_error_text(), place, strlen(place)) != 0) fail_msg("\"%s\" does not start with \"%s\"", cs_error_text(), place);
        assert_says(cs_error_text(), rows[i].said);
    }
}

#define SPOIL(name, ...) static void name(struct written *w) { __VA_ARGS__; }

SPOIL(no_policy, w->scenario.n_policies = 0)
SPOIL(bad_policy, w->policy = "record_and_fil")
SPOIL(bad_policy_expected, w->expected.policy = "zero")
SPOIL(bad_policy_against, w->ops[2].against_policy = "nonee")

static void policies_exist(void **state) {
    (void)state;
    const struct row rows[] = {
        {no_policy, 1, "policies: empty"},
        {bad_policy, 1, "no policy is named \"record_and_fil\"; did you mean \"record_and_fill\"?"},
        {bad_policy_expected, 4, "no policy is named \"zero\""},
        {bad_policy_against, 4, "no policy is named \"nonee\"; did you mean \"none\"?"},
    };
    assert_refused(write_gpt_oss, rows, CS_COUNT(rows));
}

SPOIL(no_method, w->scenario.method = NULL)
SPOIL(bad_method, w->scenario.method = "gpt_oss_mxfp")
SPOIL(no_backend, w->scenario.backend = NULL)
SPOIL(bad_backend, w->scenario.backend = "marlinn")
SPOIL(bad_loader, w->scenario.loader = "gpt_oss_combine")
SPOIL(other_loader, w->scenario.loader = "per_expert_mxfp4")
SPOIL(other_loader_of_op, w->ops[1].loader = "per_expert_mxfp4")
SPOIL(bad_rounding, w->scenario.rounding = "refrence")

static void methods_back_ends_and_loaders_exist_and_fit(void **state) {
    (void)state;
    const struct row rows[] = {
        {no_method, 1, "routed experts: name a method"},
        {bad_method, 1, "no method is named \"gpt_oss_mxfp\"; did you mean \"gpt_oss_mxfp4\"?"},
        {no_backend, 1, "backend: missing"},
        {bad_backend, 1, "\"marlinn\"; did you mean \"marlin\"?"},
        {bad_loader, 1, "no loader is named \"gpt_oss_combine\"; did you mean \"gpt_oss_combined\"?"},
        {other_loader, 1, "\"per_expert_mxfp4\" does not load method gpt_oss_mxfp4"},
        {other_loader_of_op, 3, "\"per_expert_mxfp4\" does not load method gpt_oss_mxfp4"},
        {bad_rounding, 1, "no rounding is named \"refrence\"; did you mean \"reference\"?"},
    };
    assert_refused(write_gpt_oss, rows, CS_COUNT(rows));
}

SPOIL(tp_0, w->scenario.tp = 0)
SPOIL(tp_65, w->scenario.tp = 65)
SPOIL(ep_0, w->scenario.ep = 0)
SPOIL(both, (w->scenario.tp = 2, w->scenario.ep = 2))
SPOIL(too_many_ranks, w->scenario.ep = 3)

static void ranks_are_few_and_have_experts(void **state) {
    (void)state;
    const struct row rows[] = {
        {tp_0, 1, "tp 0"}, {tp_65, 1, "tp 65"}, {ep_0, 1, "ep 0"}, {both, 1, "tp 2 with ep 2"}, {too_many_ranks, 1, "ep 3 for 2 experts"},
    };
    assert_refused(write_gpt_oss, rows, CS_COUNT(rows));
}

SPOIL(twice, w->checkpoints[2] = w->checkpoints[1])
SPOIL(of_nothing, w->checkpoints[1].perturbs = "Z")
SPOIL(of_a_copy, w->checkpoints[2].perturbs = "B")
SPOIL(version_0, w->checkpoints[1].version = 0)
SPOIL(version_8, w->checkpoints[1].version = 8)

static void checkpoints_have_one_name_and_an_original(void **state) {
    (void)state;
    const struct row rows[] = {
        {twice, 1, "checkpoint B is there twice"},
        {of_nothing, 1, "copy of \"Z\", which does not exist"},
        {of_a_copy, 1, "copy of \"B\", which is a perturbed copy itself"},
        {version_0, 1, "version 0, expected 1 to 7"},
        {version_8, 1, "version 8, expected 1 to 7"},
    };
    assert_refused(write_gpt_oss, rows, CS_COUNT(rows));
}

SPOIL(bad_driver, w->ops[1].driver = "layrwise")
SPOIL(start_in_reload, w->ops[1].driver = "cold_start")
SPOIL(reload_in_start, w->ops[0].driver = "direct")
SPOIL(bad_checkpoint, w->ops[1].checkpoint = "D")
SPOIL(patch_around, w->ops[1].is_patch = true)
SPOIL(patch_of_nothing, (w->scenario.n_checkpoints = 2, w->checkpoints[1] = (struct cs_checkpoint_config){.name = "B", .patches = "Z", .line = 9}))
#define TWO_COPIES(first, second) (w->scenario.n_checkpoints = 2, w->checkpoints[0] = (struct cs_checkpoint_config)first, w->checkpoints[1] = (struct cs_checkpoint_config)second)
#define COPY(...) {__VA_ARGS__}
SPOIL(patch_cycle, TWO_COPIES(COPY(.name = "A", .patches = "B", .line = 8), COPY(.name = "B", .patches = "A", .line = 9)))
SPOIL(implicit_cycle, TWO_COPIES(COPY(.name = "A", .patches = "B", .line = 8), COPY(.name = "B", .perturbs = "A", .version = 1)))
SPOIL(copy_of_itself, TWO_COPIES(COPY(.name = "A", .patches = "A", .line = 8), COPY(.name = "B")))
SPOIL(cycle_of_others, (w->scenario.n_checkpoints = 3, w->checkpoints[0] = (struct cs_checkpoint_config){.name = "A", .patches = "B", .line = 7},
                        w->checkpoints[1] = (struct cs_checkpoint_config){.name = "B", .patches = "C", .line = 8},
                        w->checkpoints[2] = (struct cs_checkpoint_config){.name = "C", .patches = "B", .line = 9}))
SPOIL(reload_first, w->ops[0] = w->ops[1])
SPOIL(second_start, w->ops[1] = (struct cs_op){.kind = CS_OP_COLD_START, .line = 3, .driver = "meta_build", .checkpoint = "A"})
SPOIL(expect_first, w->ops[0] = w->ops[2])
SPOIL(no_expectation, w->scenario.n_ops = 2)
SPOIL(no_ops, w->scenario.n_ops = 0)
SPOIL(load_last, w->ops[3] = w->ops[1]; w->ops[3].line = 5; w->scenario.n_ops = 4)

static void plans_start_a_server_reload_it_and_expect_something(void **state) {
    (void)state;
    const struct row rows[] = {
        {bad_driver, 3, "no driver is named \"layrwise\"; did you mean \"layerwise\"?"},
        {start_in_reload, 3, "driver \"cold_start\" starts a server"},
        {reload_in_start, 2, "driver \"direct\" reloads a server"},
        {bad_checkpoint, 3, "no checkpoint is named \"D\""},
        {patch_around, 3, "patch: sparse patches go into live tensors, past every reload: use driver \"raw\""},
        {patch_of_nothing, 9, "checkpoint \"B\": there is no checkpoint \"Z\" to change"},
        {patch_cycle, 8, "checkpoint A is a copy of \"B\", and by way of \"B\" of itself"},
        {implicit_cycle, 8, "checkpoint A is a copy of \"B\", and by way of \"B\" of itself"},
        {copy_of_itself, 8, "checkpoint A is a copy of itself: name another original"},
        {cycle_of_others, 8, "checkpoint B is a copy of \"C\", and by way of \"C\" of itself"},
        {reload_first, 3, "begin with cold_start"},
        {second_start, 3, "cold_start comes once, first"},
        {expect_first, 4, "an expectation needs a running server"},
        {no_expectation, 1, "no expectation, so nothing could fail"},
        {no_ops, 1, "no expectation, so nothing could fail"},
        {load_last, 5, "nothing judges the plan after this step"},
    };
    assert_refused(write_gpt_oss, rows, CS_COUNT(rows));
}

SPOIL(capture_first, w->ops[0] = (struct cs_op){.kind = CS_OP_CAPTURE, .line = 2})
SPOIL(sleep_first, w->ops[0] = (struct cs_op){.kind = CS_OP_SLEEP, .line = 2, .sleep_level = 1})
SPOIL(capture_asleep, (w->ops[1] = (struct cs_op){.kind = CS_OP_SLEEP, .line = 3, .sleep_level = 1},
                       w->ops[2] = (struct cs_op){.kind = CS_OP_CAPTURE, .line = 4}))
SPOIL(capture_last, w->ops[2] = (struct cs_op){.kind = CS_OP_CAPTURE, .line = 4})

static void captures_and_sleeps_need_a_server_that_is_awake(void **state) {
    (void)state;
    static const struct row rows[] = {
        {capture_first, 2, "capture: there is no server yet: begin with cold_start"},
        {sleep_first, 2, "sleep: there is no server yet: begin with cold_start"},
        {capture_asleep, 4, "the server is asleep: wake it first, s:wake()"},
        {capture_last, 1, "no expectation, so nothing could fail"},
    };
    assert_refused(write_gpt_oss, rows, CS_COUNT(rows));
}

SPOIL(toy_tp, w->scenario.tp = 2)
SPOIL(toy_method, w->scenario.method = "mxfp4")
SPOIL(toy_perturbed, (w->scenario.n_checkpoints = 2, w->checkpoints[1] = (struct cs_checkpoint_config){.name = "B", .perturbs = "A", .version = 1}))
SPOIL(unknown_param, w->call.param = "q")
SPOIL(write_outside, w->call.write.length[0] = 5)
SPOIL(write_before, w->call.write.start[0] = -1)
SPOIL(write_nothing, w->call.write.length[1] = 0)
SPOIL(write_too_many_dimensions, w->call.write.length[2] = 1)
SPOIL(write_far, w->call.write.start[0] = INT64_MAX)
SPOIL(wrong_values, w->call.n_values = 3)
SPOIL(mark_outside, w->mark.start[0] = 4)
SPOIL(step_param, w->step.param = "q")
SPOIL(step_layout, w->step.chain[1] = "shuffle17")

static void toys_stay_inside_their_parameters(void **state) {
    (void)state;
    const struct row rows[] = {
        {toy_tp, 1, "a toy has one rank"},
        {toy_method, 1, "the model has no routed experts"},
        {toy_perturbed, 1, "toys say what each load writes"},
        {unknown_param, 7, "the toy has no parameter \"q\""},
        {write_outside, 7, "write of p: dimension 0: [0, 5) is outside of the parameter's extent 4"},
        {write_before, 7, "dimension 0: [-1, 1)"},
        {write_nothing, 7, "dimension 1: [0, 0)"},
        {write_too_many_dimensions, 7, "dimension 2"},
        {write_far, 7, "dimension 0"},
        {wrong_values, 7, "3 values for 4 elements"},
        {mark_outside, 7, "mark of p: dimension 0: [4, 5)"},
        {step_param, 1, "post_load step 1: the toy has no parameter \"q\""},
        {step_layout, 1, "post_load step 1: no layout is named \"shuffle17\""},
    };
    assert_refused(write_toy, rows, CS_COUNT(rows));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captures_and_sleeps_need_a_server_that_is_awake),
        cmocka_unit_test(good_scenarios_pass),
        cmocka_unit_test(policies_exist),
        cmocka_unit_test(methods_back_ends_and_loaders_exist_and_fit),
        cmocka_unit_test(ranks_are_few_and_have_experts),
        cmocka_unit_test(checkpoints_have_one_name_and_an_original),
        cmocka_unit_test(plans_start_a_server_reload_it_and_expect_something),
        cmocka_unit_test(toys_stay_inside_their_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
