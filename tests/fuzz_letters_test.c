/* Letters of the alphabet that change what is judged: activation scales, checkpoints that differ in one element or have
 * another size, graphs that are captured anew. What each must give is the rule of its driver, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "sim/script/script.h"
#include "tests/support_cli.h"
#include "tests/support_files.h"
#include "tests/support_fuzz.h"
#include "tests/support_session.h"

#define SMALL(backend, loader, engine, layer)                                                                          \
    "seed=1 backend=" backend " loader=" loader " ranks=tp1 layers=2 experts=2 hidden=64 intermediate=64 "             \
    "beside=norm rounding=released allocator=random policy=record_and_fill device=ref start=cold_start arrival=file "  \
    "engine=" engine " layer=" layer " "

static enum cs_fuzz_outcome outcome_of(const char *text, cs_defect_set defects, const char *says) {
    struct cs_arena arena = {0};
    struct cs_fuzz_plan plan = plan_of(text);
    struct cs_fuzz_result result;
    const struct cs_judge_options options = {.defects = defects};
    assert_ok(cs_fuzz_judge(&plan, &options, &arena, &result));
    bool is_as_said = !says || strstr(result.fingerprint.text, says);
    if (!is_as_said) fail_msg("%s: found \"%s\", expected \"%s\"", text, result.fingerprint.text, says);
    if (!says && result.outcome == CS_FUZZ_FAILED) print_error("%s: %s\n", text, result.reason);
    enum cs_fuzz_outcome found = result.outcome;
    cs_arena_release(&arena);
    return found;
}

/* Whether the last expectation asks for the count. */
static bool asks_for(const char *text, enum cs_count count) {
    struct cs_arena arena = {0};
    struct cs_fuzz_plan plan = plan_of(text);
    struct cs_scenario scenario;
    assert_ok(cs_fuzz_scenario(&plan, "fuzz.x", &arena, &scenario));
    bool is_asked = scenario.ops[scenario.n_ops - 1].expected->has_count[count];
    cs_arena_release(&arena);
    return is_asked;
}

/* Gate and up have one scale, in every checkpoint: a start takes it, and the release compares it where a reload has
 * nothing to read (F12). */
static void scales_that_must_agree_are_refused_in_reloads_of_the_release_only(void **state) {
    (void)state;
#define AGREED(engine) SMALL("fp8_tensor_ct/triton", "per_expert_fp8_tensor_ct", engine, "static_input")
    static const char *const checkpoints[] = {"A", "B", "C", "D"};
    for (size_t i = 0; i < CS_COUNT(checkpoints); i++) {
        char text[CS_PLAN_TEXT];
        snprintf(text, sizeof text, "%ssteps=%s", AGREED("released"), checkpoints[i]);
        assert_int_equal(outcome_of(text, 0, NULL), CS_FUZZ_PASSED);
    }
    assert_int_equal(outcome_of(AGREED("released") "steps=A,layerwise:B", 0, NULL), CS_FUZZ_REFUSED);
    assert_int_equal(outcome_of(AGREED("repaired") "steps=A,layerwise:B,direct:A", 0, NULL), CS_FUZZ_PASSED);
    assert_int_equal(outcome_of(AGREED("repaired") "steps=A,layerwise:B", CS_DEFECT_BIT(CS_DEFECT_SCALES_MUST_AGREE),
                                "refused layerwise fp8_tensor_ct"), CS_FUZZ_FAILED);
#undef AGREED
}

/* One element of layer 0's experts differs: the module that has it is enough for a server that held the other checkpoint,
 * by every driver that a whole load is right by; and its padding must be filled all the same. */
static void the_module_that_differs_is_enough_for_who_held_the_rest(void **state) {
    (void)state;
    static const char *const drivers[] = {"layerwise", "direct", "kernel_format"};
    for (size_t i = 0; i < CS_COUNT(drivers); i++) {
        char text[CS_PLAN_TEXT];
        snprintf(text, sizeof text, PADDED "policy=record_and_fill steps=A,%s.delta:E,%s.delta:A", drivers[i], drivers[i]);
        assert_int_equal(outcome_of(text, 0, NULL), CS_FUZZ_PASSED);
        assert_true(asks_for(text, CS_COUNT_params_differ));
    }
    const char *delta = PADDED "policy=record_and_fill steps=A,layerwise.delta:E", *other = PADDED "policy=record_and_fill steps=B,layerwise.delta:E";
    assert_int_equal(outcome_of(delta, CS_DEFECT_BIT(CS_DEFECT_NO_FILL), "params_differ padding"), CS_FUZZ_FAILED);
    assert_false(asks_for(other, CS_COUNT_params_differ)); /* layer 1 is still B's */
    assert_int_equal(outcome_of(other, 0, NULL), CS_FUZZ_PASSED);
}

/* A patch is NaN where nothing changed, of every tensor. Where post-load changes nothing the server must hold the copy;
 * elsewhere loaders write into kernel tensors, and nothing is expected. */
static void a_sparse_patch_is_judged_where_post_load_changes_nothing(void **state) {
    (void)state;
    const char *kept = SMALL("unquantized/triton", "per_expert", "released", "usual") "steps=A,raw.patch:E,raw.patch:A,raw:B",
               *moved = SMALL("unquantized/flashinfer_trtllm", "per_expert", "released", "usual") "steps=A,raw.patch:E",
               *integers = SMALL("gpt_oss_mxfp4/emulation", "gpt_oss_combined", "released", "usual") "steps=A,raw.patch:E";
    assert_true(asks_for(kept, CS_COUNT_params_differ));
    assert_int_equal(outcome_of(kept, 0, NULL), CS_FUZZ_PASSED);
    assert_false(asks_for(moved, CS_COUNT_params_differ));
    assert_int_equal(outcome_of(integers, 0, NULL), CS_FUZZ_REFUSED); /* they have no NaN */
    assert_int_equal(outcome_of(SMALL("gpt_oss_mxfp4/emulation", "gpt_oss_combined", "released", "usual") "steps=A,layerwise.patch:E", 0, NULL),
                     CS_FUZZ_REFUSED);
}

/* Half the experts' size fits into a corner of the model's tensors: the engine must say so. */
static void a_checkpoint_of_another_size_is_refused(void **state) {
    (void)state;
    static const char *const sizes[] = {"smaller_checkpoint", "larger_checkpoint"};
    for (size_t i = 0; i < CS_COUNT(sizes); i++) {
        char text[CS_PLAN_TEXT];
        snprintf(text, sizeof text, "%sbreaks=%s steps=A,layerwise:B", SMALL("unquantized/triton", "per_expert", "released", "usual"), sizes[i]);
        assert_int_equal(outcome_of(text, 0, NULL), CS_FUZZ_REFUSED);
    }
    assert_int_equal(outcome_of(SMALL("unquantized/triton", "per_expert", "released", "usual") "breaks=smaller_checkpoint steps=A,layerwise:B",
                                CS_DEFECT_BIT(CS_DEFECT_SIZES_UNCHECKED), "accepted smaller_checkpoint"), CS_FUZZ_FAILED);
}

/* A layerwise load moves side tensors, so that the first graphs read old memory from then on. Those that are captured
 * after it read what is there, and a load that moves nothing leaves them right. */
static void graphs_that_are_captured_anew_are_judged_again(void **state) {
    (void)state;
#define KEPT(engine) SMALL("gpt_oss_mxfp4/emulation", "gpt_oss_combined", engine, "usual")
    const char *finished = KEPT("repaired") "steps=A,kernel_format:B,raw:A", *captured = KEPT("repaired") "steps=A,kernel_format:B,raw.captured:A";
    assert_false(asks_for(finished, CS_COUNT_graph_differ)); /* what post-load derived is still A's in between */
    assert_true(asks_for(captured, CS_COUNT_graph_differ));
    assert_int_equal(outcome_of(captured, 0, NULL), CS_FUZZ_PASSED);
    /* without the release's faults nothing moves: the first graphs are right after every load */
    const char *still = KEPT("repaired") "steps=A,layerwise:B,direct:A";
    assert_true(asks_for(still, CS_COUNT_graph_differ) && asks_for(still, CS_COUNT_side_moved));
    assert_int_equal(outcome_of(still, 0, NULL), CS_FUZZ_PASSED);
    assert_int_equal(outcome_of(still, CS_DEFECT_BIT(CS_DEFECT_SIDE_TENSORS_REBUILT), "side_"), CS_FUZZ_FAILED);
    /* post-load that ran on its own results, bucket after bucket, has moved what graphs read */
#define AGAIN SMALL("nvfp4_ct/flashinfer_trtllm", "per_expert_nvfp4_ct", "repaired", "usual") "steps=A,raw_post_load_per_bucket:B,direct.reversed:A"
    assert_false(asks_for(AGAIN, CS_COUNT_graph_differ));
    assert_int_not_equal(outcome_of(AGAIN, 0, NULL), CS_FUZZ_FAILED);
#undef AGAIN
    /* in the middle of a stopped load there are temporaries to capture */
#define STOPPED SMALL("fp8_tensor_ct/vllm_cutlass", "per_expert_fp8_tensor_ct", "repaired", "usual") "steps=A,direct.stopped:B,direct.captured:A"
    assert_false(asks_for(STOPPED, CS_COUNT_graph_differ));
    assert_int_equal(outcome_of(STOPPED, 0, NULL), CS_FUZZ_PASSED);
#undef STOPPED
    /* the release leaves copies in the quant config (F9), which a raw load does not write */
    assert_false(asks_for(KEPT("released") "steps=A,layerwise:B,raw.captured:A", CS_COUNT_graph_differ));
    assert_int_equal(outcome_of(KEPT("released") "steps=A,layerwise:B,raw.captured:A", 0, NULL), CS_FUZZ_PASSED);
#undef KEPT
}

/* A layerwise load whose copies nobody counts (F13) puts everything back and fills nothing, so that marks of a raw load,
 * of the kernel's layout, wait for the next fill, which skips them: only what comes after that fill is judged. */
static void marks_of_a_raw_load_wait_behind_a_load_that_counts_nothing(void **state) {
    (void)state;
#define BARE                                                                                                           \
    "seed=1 backend=quark_mx/flashinfer_cutlass_mxfp8 loader=gpt_oss_quark_mx ranks=tp1 layers=1 experts=1 hidden=64 " \
    "intermediate=64 beside=nothing rounding=released allocator=random policy=record_and_fill device=ref "             \
    "start=cold_start arrival=file engine=released layer=biases steps=A,raw:B,layerwise:A,direct:B"
    assert_false(asks_for(BARE, CS_COUNT_params_differ));
    assert_int_equal(outcome_of(BARE, 0, NULL), CS_FUZZ_PASSED);
    assert_int_equal(outcome_of(BARE ",direct:A", 0, NULL), CS_FUZZ_PASSED);
    assert_int_equal(outcome_of(BARE ",direct:A", CS_DEFECT_BIT(CS_DEFECT_NO_FILL), "params_differ padding"), CS_FUZZ_FAILED);
#undef BARE
}

/* FP8 with a scale of the whole tensor: gate and up are quantised again by the larger one, padding too, where an exchange
 * of tokens rounds the hidden size up. Padding that holds 0x77 then depends on the scale, and no real number does. */
static void padding_that_is_quantised_again_is_no_leak(void **state) {
    (void)state;
#define AGAIN(layer)                                                                                                   \
    "seed=3629953785310605086 backend=fp8_tensor/marlin loader=per_expert_fp8_tensor ranks=tp1 layers=1 experts=1 "    \
    "hidden=64 intermediate=64 beside=nothing rounding=released allocator=random policy=record_and_fill device=ref "   \
    "start=cold_start arrival=file engine=released layer=" layer " steps=B"
    assert_false(asks_for(AGAIN("deepep"), CS_COUNT_padding_leaks));
    assert_true(asks_for(AGAIN("usual"), CS_COUNT_padding_leaks)); /* nothing is padded, and the seed asks */
    assert_int_equal(outcome_of(AGAIN("deepep"), 0, NULL), CS_FUZZ_PASSED);
    assert_int_equal(outcome_of(AGAIN("usual"), 0, NULL), CS_FUZZ_PASSED);
#undef AGAIN
}

/* The law about padding looks at two checkpoints, also where a plan names one: its scenario must name both. */
static void a_plan_of_one_checkpoint_runs_by_itself(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    size_t n_asking = 0;
    assert_int_equal(enter_new_folder(), 0);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct cs_fuzz_plan plan = plan_of(SMALL("unquantized/triton", "per_expert", "released", "usual") "steps=A");
        struct cs_scenario written, read;
        plan.seed = seed;
        assert_ok(cs_fuzz_scenario(&plan, "fuzz.x", &arena, &written));
        n_asking += written.ops[1].expected->has_count[CS_COUNT_padding_leaks];
        write_text("x.lua", cs_scenario_lua(&written, NULL, 0, &arena));
        assert_ok(cs_script_load("x.lua", &arena, &read));
        assert_ok(cs_scenario_check(&read));
        const struct cs_audit_options options = {.device = cs_devices[0], .policy = "record_and_fill", .seed = seed};
        struct cs_verdict verdict;
        assert_ok(cs_audit_scenario(&read, &options, &arena, &verdict));
        assert_int_equal(verdict.status, CS_PASSED);
    }
    assert_in_range(n_asking, 1, 20); /* one in eight, by the seed */
    assert_int_equal(leave_folder(), 0);
    cs_arena_release(&arena);
}

/* ---- broken plans as files ---- */

struct told {
    bool is_refused;
    const char *reason;
};

/* Files have lines, plans have none; and a file names no checkpoint that it does not send, so that other names are near.
 */
static const char *without_place(const char *reason, struct cs_arena *arena) {
    static const char *const places[] = {"x.lua:", "plan:", "line "};
    bool has_place = false;
    for (size_t i = 0; i < CS_COUNT(places); i++) has_place |= strncmp(reason, places[i], strlen(places[i])) == 0;
    const char *colon = strstr(reason, ": "), *hint = strstr(reason, "; did you mean");
    if (has_place && colon) return without_place(colon + 2, arena);
    return cs_arena_format(arena, "%.*s", (int)(hint ? (size_t)(hint - reason) : strlen(reason)), reason);
}

static struct told told_by(const struct cs_scenario *scenario, struct cs_arena *arena) {
    const struct cs_audit_options options = {
        .device = cs_devices[0], .policy = scenario->policies[0], .seed = scenario->seed, .is_quick = true};
    struct cs_verdict verdict = {0};
    enum cs_status status = cs_scenario_check(scenario);
    if (status == CS_OK) status = cs_audit_scenario(scenario, &options, arena, &verdict);
    if (status != CS_OK) return (struct told){true, without_place(cs_error_text(), arena)};
    bool is_refused = verdict.status == CS_REFUSED_AS_UPSTREAM || verdict.refused_reason || verdict.is_unsupported;
    const char *reason = verdict.refused_reason ? verdict.refused_reason : verdict.reason;
    return (struct told){is_refused, without_place(reason ? reason : "", arena)};
}

/* The reader refuses some files before there is a scenario. */
static struct told told_by_file(const struct cs_scenario *scenario, struct cs_arena *arena) {
    struct cs_scenario read;
    write_text("x.lua", cs_scenario_lua(scenario, NULL, 0, arena));
    if (cs_script_load("x.lua", arena, &read) == CS_OK) return told_by(&read, arena);
    return (struct told){true, without_place(cs_error_text(), arena)};
}

/* The reader knows the range of its numbers and says it in its own words. */
static const char *as_the_reader_says(const char *reason) {
    bool is_rank = cs_text_equal(reason, "tp 0, ep 1: both must be 1 to 64");
    return is_rank ? "cs.scenario.tp: found 0, expected an integer from 1 to 64" : reason;
}

/* Whether the file's verdict is the plan's, and that of the judge of plans. */
static bool breaks_alike(const struct cs_fuzz_plan *plan, cs_defect_set defects, size_t *n_accepted) {
    struct cs_arena arena = {0};
    struct cs_scenario scenario;
    char text[CS_PLAN_TEXT];
    assert_ok(cs_fuzz_scenario(plan, "fuzz.x", &arena, &scenario));
    scenario.defects = cs_fuzz_defects(plan, defects);
    struct told by_plan = told_by(&scenario, &arena), by_file = told_by_file(&scenario, &arena);
    bool is_same = by_plan.is_refused == by_file.is_refused &&
                   cs_text_equal(as_the_reader_says(by_plan.reason), by_file.reason);
    if (!is_same)
        print_error("%s: found %s \"%s\", expected %s \"%s\"\n", cs_fuzz_plan_text(plan, text),
                    by_file.is_refused ? "refused" : "accepted", by_file.reason,
                    by_plan.is_refused ? "refused" : "accepted", by_plan.reason);
    enum cs_fuzz_outcome judged = outcome_of(cs_fuzz_plan_text(plan, text), defects, NULL);
    assert_int_equal(judged, by_plan.is_refused ? CS_FUZZ_REFUSED : CS_FUZZ_FAILED);
    *n_accepted += !by_file.is_refused;
    cs_arena_release(&arena);
    return is_same;
}

/* A failure of a broken plan is saved too: its file must break in the same way, for the same reason. */
static void a_broken_plan_breaks_as_a_file_in_the_same_way(void **state) {
    (void)state;
    static const char *const texts[] = {
        SMALL("unquantized/triton", "per_expert", "released", "usual") "steps=A",
        SMALL("unquantized/triton", "per_expert", "released", "usual") "steps=A,layerwise:B",
        PADDED "policy=record_and_fill steps=B,layerwise.delta:E",
    };
    bool are_alike = true;
    size_t n_accepted = 0, n_more = 0;
    assert_int_equal(enter_new_folder(), 0);
    for (size_t b = 0; b < cs_n_breakages; b++)
        for (size_t i = 0; i < CS_COUNT(texts); i++) {
            struct cs_fuzz_plan plan = plan_of(texts[i]);
            plan.breakage = (uint8_t)(b + 1);
            are_alike &= breaks_alike(&plan, 0, &n_accepted);
            are_alike &= breaks_alike(&plan, CS_DEFECT_BIT(CS_DEFECT_SIZES_UNCHECKED), &n_more);
        }
    assert_true(are_alike);
    assert_int_equal(n_accepted, 0);
    assert_in_range(n_more, 2, 6); /* both sizes, where the load is unchecked */
    assert_int_equal(leave_folder(), 0);
}

/* So must plans that break a rule, as campaigns deal them. */
static void a_plan_against_a_rule_breaks_as_a_file_in_the_same_way(void **state) {
    (void)state;
    const struct cs_stream_options options = {.seed = 1, .t = 1};
    struct cs_plan_stream *stream;
    struct cs_fuzz_plan plan;
    enum cs_part part;
    const struct cs_rule *breaks;
    bool are_alike = true;
    size_t n_accepted = 0, n = 0;
    assert_int_equal(enter_new_folder(), 0);
    assert_ok(cs_stream_open(&options, &stream));
    do {
        assert_ok(cs_stream_next(stream, &plan, &part, &breaks));
        if (breaks) are_alike &= breaks_alike(&plan, 0, &n_accepted), n++;
    } while (part == CS_PART_GUARANTEED || part == CS_PART_ILLEGAL);
    cs_stream_close(stream);
    assert_true(are_alike);
    assert_true(n >= cs_n_rules);
    assert_int_equal(n_accepted, 0);
    assert_int_equal(leave_folder(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_that_must_agree_are_refused_in_reloads_of_the_release_only),
        cmocka_unit_test(the_module_that_differs_is_enough_for_who_held_the_rest),
        cmocka_unit_test(a_sparse_patch_is_judged_where_post_load_changes_nothing),
        cmocka_unit_test(a_checkpoint_of_another_size_is_refused),
        cmocka_unit_test(graphs_that_are_captured_anew_are_judged_again),
        cmocka_unit_test(marks_of_a_raw_load_wait_behind_a_load_that_counts_nothing),
        cmocka_unit_test(padding_that_is_quantised_again_is_no_leak),
        cmocka_unit_test(a_plan_of_one_checkpoint_runs_by_itself),
        cmocka_unit_test(a_broken_plan_breaks_as_a_file_in_the_same_way),
        cmocka_unit_test(a_plan_against_a_rule_breaks_as_a_file_in_the_same_way),
    };
    omp_set_num_threads(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
