/* The oracle: what a plan must keep, and which faults it finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <omp.h>
#include <stdio.h>

#include "tests/support_cli.h"
#include "tests/support_fuzz.h"
#include "tests/support_session.h"

static void padding_that_nobody_refills_is_found_and_named(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_fuzz_plan plan = plan_of(PADDED "policy=none steps=A,layerwise:B");
    struct cs_fuzz_result result = judge(&plan, &arena);
    assert_int_equal(result.outcome, CS_FUZZ_FAILED);
    assert_string_equal(result.fingerprint.text, "params_differ padding w13_weight nobody");
    assert_true(result.n_why > 3 && result.n_why <= 15);
    cs_arena_release(&arena);
}

static void the_same_plan_with_records_holds(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_fuzz_plan plan =
        plan_of(PADDED "policy=record_and_fill steps=A,layerwise:B,direct.other_loader:C,layerwise.partial:D,"
                       "layerwise.nothing:A,direct.same:A,layerwise.shuffled:B,direct.nothing:C");
    struct cs_fuzz_result result = judge(&plan, &arena);
    if (result.outcome != CS_FUZZ_PASSED) fail_msg("%s: %s", result.fingerprint.text, result.reason);
    cs_arena_release(&arena);
}

/* A raw load runs loaders, which record padding of kernel tensors, and fills nothing: what it recorded must not be what
 * the next load fills (R2.3: only the latest load counts). */
static void records_of_a_raw_load_do_not_reach_the_next(void **state) {
    (void)state;
    static const char *const next[] = {"layerwise", "direct", "direct.stopped:A,direct", "layerwise.partial:A,direct"};
    struct cs_arena arena = {0};
    for (size_t i = 0; i < 2 * CS_COUNT(next); i++) {
        char text[CS_PLAN_TEXT];
        snprintf(text, sizeof text, PADDED "policy=record_and_fill steps=A,raw:B,%s:A", next[i / 2]);
        struct cs_fuzz_plan plan = plan_of(text);
        plan.axis[CS_AXIS_engine] = i % 2;
        struct cs_fuzz_result result = judge(&plan, &arena);
        if (result.outcome != CS_FUZZ_PASSED) fail_msg("%s: %s", result.fingerprint.text, result.reason);
    }
    cs_arena_release(&arena);
}

static struct cs_fuzz_result judge_text(const char *steps, cs_defect_set defects, struct cs_arena *arena) {
    char text[CS_PLAN_TEXT];
    struct cs_fuzz_result result;
    const struct cs_judge_options options = {.defects = defects};
    snprintf(text, sizeof text, "%s%s", PADDED "policy=record_and_fill ", steps);
    struct cs_fuzz_plan plan = plan_of(text);
    assert_ok(cs_fuzz_judge(&plan, &options, arena, &result));
    return result;
}

/* After a raw load the server holds nothing in particular, so that no cold start can judge it: the law still does. */
static void a_load_of_nothing_changes_nothing_whatever_was_held(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    const char *steps = "steps=A,raw.partial:B,layerwise.nothing:C";
    struct cs_fuzz_result holds = judge_text(steps, 0, &arena);
    if (holds.outcome == CS_FUZZ_FAILED) fail_msg("%s: %s", holds.fingerprint.text, holds.reason);
    struct cs_fuzz_result broken = judge_text(steps, CS_DEFECT_BIT(CS_DEFECT_UNTOUCHED_PROCESSED), &arena);
    assert_int_equal(broken.outcome, CS_FUZZ_FAILED);
    assert_says(broken.fingerprint.text, "changed");
    cs_arena_release(&arena);
}

/* F5: a release replays the calls that a stopped load left, and counts them (F4); without these faults a retry reaches a
 * cold start, and the faults switched on again are found. */
static void a_retry_of_a_stopped_load_is_judged(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    static const char *const retries[] = {"layerwise.stopped:B,layerwise:C", "layerwise.stopped:B,layerwise:B",
                                          "direct.stopped:B,direct:C", "raw.stopped:B,layerwise:C,layerwise:D"};
    for (size_t i = 0; i < CS_COUNT(retries); i++) {
        char text[CS_PLAN_TEXT];
        snprintf(text, sizeof text,
                 "seed=5 backend=unquantized/flashinfer_trtllm loader=per_expert ranks=tp1 layers=2 experts=3 hidden=128 "
                 "intermediate=128 beside=nothing rounding=released allocator=random device=ref start=cold_start "
                 "arrival=file engine=repaired policy=record_and_fill steps=A,%s", retries[i]);
        struct cs_fuzz_plan plan = plan_of(text);
        struct cs_fuzz_result result;
        const struct cs_judge_options mutant = {.defects = CS_DEFECT_BIT(CS_DEFECT_PENDING_CALLS_SURVIVE) |
                                                           CS_DEFECT_BIT(CS_DEFECT_DUPLICATES_COUNT) |
                                                           CS_DEFECT_BIT(CS_DEFECT_OVER_COUNTED)};
        result = judge(&plan, &arena);
        if (result.outcome != CS_FUZZ_PASSED) fail_msg("%s: %s %s", retries[i], result.fingerprint.text, result.reason);
        assert_ok(cs_fuzz_judge(&plan, &mutant, &arena, &result));
        if (i == 0) assert_int_equal(result.outcome, CS_FUZZ_FAILED);
    }
    cs_arena_release(&arena);
}

/* DeepEP rounds 64 columns to 256, two blocks of 128: the second has scales of padding alone, created as 1. A server built on meta has recorded the
 * value 0 (R2.2, a limitation of the release): nothing is expected of it. Without the limitation, everything is. */
static void a_model_built_on_meta_is_judged_where_it_knows_its_padding_values(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    static const char *const engines[] = {"released", "repaired"};
    for (size_t i = 0; i < CS_COUNT(engines); i++) {
        char text[CS_PLAN_TEXT];
        struct cs_fuzz_result result;
        const struct cs_judge_options mutant = {.defects = CS_DEFECT_BIT(CS_DEFECT_META_RECORDS_ZERO)};
        snprintf(text, sizeof text,
                 "seed=1 backend=quark_fp8_block/marlin loader=per_expert_quark_fp8_block ranks=ep2 layers=1 experts=2 "
                 "hidden=64 intermediate=128 layer=deepep beside=nothing rounding=released allocator=random policy=record_and_fill "
                 "device=ref start=meta_build arrival=file engine=%s steps=A,layerwise:B", engines[i]);
        struct cs_fuzz_plan plan = plan_of(text);
        result = judge(&plan, &arena);
        if (result.outcome != CS_FUZZ_PASSED) fail_msg("%s: %s", engines[i], result.reason);
        assert_ok(cs_fuzz_judge(&plan, &mutant, &arena, &result));
        assert_int_equal(result.outcome, i ? CS_FUZZ_FAILED : CS_FUZZ_PASSED);
        if (i) assert_says(result.fingerprint.text, "params_differ padding w13_weight_scale");
    }
    cs_arena_release(&arena);
}

/* Scales and zero points of a size of 64 in groups of 128 have 64 / 128 = 0 rows. Sent last, they come when the weights
 * have filled the count: nothing of them is lost, and nothing of the layer is in excess. */
static void tensors_without_elements_are_not_lost(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    static const char *const sizes[] = {"64", "128"};
    for (size_t i = 0; i < 4; i++) {
        char text[CS_PLAN_TEXT];
        snprintf(text, sizeof text,
                 "seed=1 backend=gptq/marlin loader=per_expert_gptq ranks=tp1 layers=1 experts=1 hidden=%s intermediate=%s "
                 "beside=nothing rounding=released allocator=random policy=record_and_fill device=ref start=cold_start "
                 "arrival=file engine=repaired steps=A,layerwise.reversed:B", sizes[i / 2], sizes[i % 2]);
        struct cs_fuzz_plan plan = plan_of(text);
        struct cs_fuzz_result result = judge(&plan, &arena);
        if (result.outcome != CS_FUZZ_PASSED) fail_msg("%s: %s", text, result.reason);
    }
    cs_arena_release(&arena);
}

/* Two layers on two ranks that reduce a scale over all of them, with copies of experts: tensors in any order complete
 * layer 0 first on one rank and layer 1 on the other. */
static void ranks_that_complete_other_layers_do_not_meet(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    static const char *const steps[] = {"layerwise:B", "layerwise.shuffled:B"};
    for (size_t i = 0; i < CS_COUNT(steps); i++) {
        char text[CS_PLAN_TEXT];
        snprintf(text, sizeof text,
                 "seed=6024236908754537454 backend=nvfp4_ct/cutedsl loader=per_expert_nvfp4_ct ranks=ep2 layers=2 experts=4 hidden=64 intermediate=64 "
                 "beside=norm rounding=released allocator=random policy=record_and_fill device=ref start=cold_start arrival=file "
                 "engine=released layer=redundant steps=A,%s", steps[i]);
        struct cs_fuzz_plan plan = plan_of(text);
        struct cs_fuzz_result result = judge(&plan, &arena);
        assert_int_equal(result.outcome, i ? CS_FUZZ_REFUSED : CS_FUZZ_PASSED);
    }
    cs_arena_release(&arena);
}

/* Level 2 keeps what is registered. A stopped layerwise load has buffers on meta, and those of the kernel aside. */
static void nothing_is_expected_of_a_server_that_slept_in_a_stopped_load(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_fuzz_plan plan =
        plan_of("seed=1 backend=quark_fp8_block/aiter loader=per_expert_quark_fp8_block ranks=tp1 layers=1 experts=1 hidden=64 "
                "intermediate=64 beside=buffer rounding=released allocator=random policy=record_and_fill device=ref "
                "start=cold_start arrival=file engine=released "
                "steps=A,load_plan.stopped:B,layerwise.slept:A,kernel_format:B");
    struct cs_fuzz_result result = judge(&plan, &arena);
    if (result.outcome == CS_FUZZ_FAILED) fail_msg("%s: %s", result.fingerprint.text, result.reason);
    plan.axis[CS_AXIS_engine] = 1;
    assert_ok(cs_axis_parse(CS_AXIS_beside, "kept", &plan.axis[CS_AXIS_beside]));
    result = judge(&plan, &arena);
    if (result.outcome == CS_FUZZ_FAILED) fail_msg("%s: %s", result.fingerprint.text, result.reason);
    cs_arena_release(&arena);
}

/* A model that walks names may refuse a load with one that it does not know; what follows is judged without that load. */
static void what_follows_a_refused_step_is_judged(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    const char *steps = "steps=A,layerwise.unknown:B,layerwise:C";
    struct cs_fuzz_result result = judge_text(steps, 0, &arena);
    assert_int_not_equal(result.outcome, CS_FUZZ_FAILED);
    result = judge_text(steps, CS_DEFECT_BIT(CS_DEFECT_COPY_BACK_SKIPPED), &arena);
    assert_int_equal(result.outcome, CS_FUZZ_FAILED);
    cs_arena_release(&arena);
}

/* Order of independent modules: the start and every load send modules in another order, tensors of one in theirs. */
static void the_arrival_axis_reaches_the_start_and_plain_loads(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_fuzz_plan plan = plan_of(PADDED "policy=record_and_fill steps=A,layerwise:B,layerwise.reversed:C,kernel_format:D");
    struct cs_scenario scenario;
    plan.axis[CS_AXIS_arrival] = 1;
    assert_ok(cs_fuzz_scenario(&plan, "x", &arena, &scenario));
    int n = 0;
    for (size_t i = 0; i < scenario.n_ops; i++) n += scenario.ops[i].shuffles_modules;
    assert_int_equal(n, 2); /* the start, and the one load that has no order of its own and takes tensors */
    assert_true(scenario.ops[0].shuffles_modules);
    assert_int_equal(judge(&plan, &arena).outcome, CS_FUZZ_PASSED);
    cs_arena_release(&arena);
}

static uint64_t waiting_after(const char *sizes, const char *steps, struct cs_arena *arena) {
    char text[CS_PLAN_TEXT];
    snprintf(text, sizeof text,
             "seed=3 backend=unquantized/triton loader=fused_3d ranks=tp1 %s hidden=64 intermediate=64 beside=nothing "
             "rounding=released allocator=random policy=record_and_fill device=ref start=cold_start arrival=file "
             "engine=released steps=A,%s", sizes, steps);
    struct cs_fuzz_plan plan = plan_of(text);
    struct cs_fuzz_result result = judge(&plan, arena);
    if (result.outcome == CS_FUZZ_FAILED) fail_msg("%s: %s", steps, result.reason);
    return result.deeds.waiting;
}

/* Two fused tensors are a layer: with one layer all has come before the sender is gone, with two the second waits. */
static void a_verdict_says_after_which_loads_a_module_waited(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    assert_int_equal(waiting_after("layers=1 experts=2", "layerwise.stopped:B,direct:C", &arena), 0);
    assert_int_equal(waiting_after("layers=2 experts=2", "layerwise.stopped:B", &arena), 1 << 1);
    assert_int_equal(waiting_after("layers=2 experts=2", "raw:C,layerwise.stopped:B,raw:C,layerwise:D", &arena), 1 << 2 | 1 << 3);
    cs_arena_release(&arena);
}

/* A direct load was stopped, and a layerwise one over it: parameters are on meta although their places are known. */
static void a_direct_load_after_a_stopped_layerwise_one_is_refused(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_fuzz_plan plan = plan_of(PADDED "policy=record_and_fill steps=A,direct.stopped:B,layerwise.stopped:C,direct:D");
    struct cs_fuzz_result result = judge(&plan, &arena);
    assert_int_equal(result.outcome, CS_FUZZ_REFUSED);
    assert_int_equal(result.judged.n_steps, 2); /* without the third step, which is refused in good order */
    cs_arena_release(&arena);
}

/* Faults that a law alone sees: of the order of modules, and of padding that a fill hides. */
static void each_law_is_the_only_one_to_see_a_fault(void **state) {
    (void)state;
    static const struct {
        enum cs_defect defect;
        const char *without, *with, *finger; /* plans that do not ask the law, and that do */
    } rows[] = {
        {CS_DEFECT_LAST_MODULE_ENDS,
         "seed=2 backend=unquantized/flashinfer_trtllm loader=per_expert ranks=tp1 layers=2 experts=2 hidden=128 intermediate=128 beside=nothing "
         "rounding=released allocator=random device=ref start=cold_start arrival=file engine=released policy=record_and_fill "
         "steps=A,layerwise:B,layerwise.buckets:C,layerwise.same:A",
         "seed=2 backend=unquantized/flashinfer_trtllm loader=per_expert ranks=tp1 layers=2 experts=2 hidden=128 intermediate=128 beside=nothing "
         "rounding=released allocator=random device=ref start=cold_start arrival=modules engine=released policy=record_and_fill "
         "steps=A,layerwise:B",
         "params_differ"},
        {CS_DEFECT_PADDING_NOT_CLEARED,
         "seed=1 backend=online_fp8_block/triton loader=per_expert ranks=tp1 layers=1 experts=2 hidden=64 intermediate=96 beside=nothing "
         "rounding=released allocator=random device=ref start=cold_start arrival=file engine=released policy=record_and_fill "
         "steps=A,layerwise:B,direct:C",
         "seed=3 backend=online_fp8_block/triton loader=per_expert ranks=tp1 layers=1 experts=2 hidden=64 intermediate=96 beside=nothing "
         "rounding=released allocator=random device=ref start=cold_start arrival=file engine=released policy=record_and_fill "
         "steps=A,layerwise:B,direct:C",
         "padding_leaks"},
    };
    struct cs_arena arena = {0};
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        const struct cs_judge_options mutant = {.defects = CS_DEFECT_BIT(rows[i].defect)};
        struct cs_fuzz_plan without = plan_of(rows[i].without), with = plan_of(rows[i].with);
        struct cs_fuzz_result result;
        assert_int_not_equal(judge(&with, &arena).outcome, CS_FUZZ_FAILED);
        assert_ok(cs_fuzz_judge(&without, &mutant, &arena, &result));
        if (result.outcome == CS_FUZZ_FAILED) fail_msg("%zu: %s", i, result.reason);
        assert_ok(cs_fuzz_judge(&with, &mutant, &arena, &result));
        assert_int_equal(result.outcome, CS_FUZZ_FAILED);
        assert_says(result.fingerprint.text, rows[i].finger);
    }
    cs_arena_release(&arena);
}

/* Marlin repeats the scale of an expert for each of its columns: there is no one element that a column came from. */
static void a_repeated_scale_is_explained_as_far_as_it_goes(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_fuzz_plan plan = plan_of(
        "seed=5867693020499565886 backend=fp8_tensor/marlin loader=per_expert_fp8_tensor ranks=ep2 layers=2 experts=4 hidden=128 "
        "intermediate=64 beside=buffer rounding=released allocator=zero policy=record_and_fill device=ref start=cold_start "
        "arrival=modules engine=repaired steps=D,layerwise.twice:A");
    const struct cs_judge_options mutant = {.defects = CS_DEFECT_BIT(CS_DEFECT_DUPLICATES_COUNT)};
    struct cs_fuzz_result result;
    assert_int_equal(judge(&plan, &arena).outcome, CS_FUZZ_PASSED);
    assert_ok(cs_fuzz_judge(&plan, &mutant, &arena, &result));
    assert_int_equal(result.outcome, CS_FUZZ_FAILED);
    assert_says(result.fingerprint.text, "params_differ scale w2_weight_scale");
    cs_arena_release(&arena);
}

#define BESIDE(what)                                                                                                   \
    "seed=3 backend=unquantized/flashinfer_trtllm loader=per_expert ranks=tp1 layers=2 experts=2 hidden=128 intermediate=128 beside=" what \
    " rounding=released allocator=random policy=record_and_fill device=ref start=cold_start arrival=file engine=repaired "

/* What stands beside the experts, and what else they can be, each with a fault that is seen there alone. */
static void what_stands_beside_experts_is_judged(void **state) {
    (void)state;
    static const struct {
        enum cs_defect defect;
        const char *text, *finger;
    } rows[] = {
        {CS_DEFECT_PERSISTENT_BUFFERS_OVERWRITTEN, BESIDE("kept") "layer=usual steps=A,layerwise:B", "payload scale"},
        {CS_DEFECT_LATE_NOT_COUNTED, BESIDE("late") "layer=usual steps=A,layerwise:B", "payload"},
        {CS_DEFECT_TIE_BROKEN, BESIDE("tie") "layer=usual steps=A,layerwise:B", "params_moved"},
        {CS_DEFECT_KV_SCALES_KEPT, BESIDE("attention") "layer=usual steps=A,layerwise:D", "_k_scale"},
        {CS_DEFECT_DUPLICATES_COUNT, BESIDE("nothing") "layer=usual steps=A,layerwise.twice:B", "params_differ"},
    };
    struct cs_arena arena = {0};
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        const struct cs_judge_options mutant = {.defects = CS_DEFECT_BIT(rows[i].defect)};
        struct cs_fuzz_plan plan = plan_of(rows[i].text);
        struct cs_fuzz_result result = judge(&plan, &arena);
        if (result.outcome != CS_FUZZ_PASSED) fail_msg("%s: %s", rows[i].text, result.reason);
        assert_ok(cs_fuzz_judge(&plan, &mutant, &arena, &result));
        if (result.outcome != CS_FUZZ_FAILED) fail_msg("%s was not found", cs_defect_name(rows[i].defect));
        assert_says(result.fingerprint.text, rows[i].finger);
    }
    cs_arena_release(&arena);
}

/* A tie names its parameter as the model does, with the prefix of checkpoints or without; one to nobody is refused. */
static void a_tie_is_found_with_the_prefix_or_without_it(void **state) {
    (void)state;
    static const char *const names[] = {"embed.weight", "model.embed.weight", "model.embed.bias", "embed", "head.weight"};
    assert_int_equal(enter_new_folder(), 0);
    for (size_t i = 0; i < CS_COUNT(names); i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "return cs.scenario { name = \"tie\",\n"
                 "  model = cs.model { name = \"m\", prefix = \"model.\", layers = 1, hidden = 8, modules = {\n"
                 "    cs.module { name = \"embed\", tensors = { { name = \"weight\", shape = { 16, \"H\" }, dtype = \"f32\" } } },\n"
                 "    cs.module { name = \"head\", tensors = { { name = \"weight\", shape = { 16, \"H\" }, dtype = \"f32\", tied = \"%s\" } } } } },\n"
                 "  run = function(s)\n"
                 "    s:cold_start \"A\"\n"
                 "    s:reload { driver = \"layerwise\", checkpoint = \"B\" }\n"
                 "    s:expect { params_differ = 0, alias_differ = 0, missing = 0, excess = 0 }\n"
                 "  end }\n", names[i]);
        write_text("tie.lua", text);
        if (i < 2) {
            coldstart("run tie.lua -q");
            assert_int_equal(outcome.status, 0);
        } else {
            assert_refused("run tie.lua -q", 2, "model.head.weight: found tied = \"");
        }
    }
    assert_int_equal(leave_folder(), 0);
}

/* Rules say that whatever the release can load, the engine without its faults loads too: asked of a sample. */
static void sizes_that_fit_the_release_fit_without_its_faults(void **state) {
    (void)state;
    size_t n_rules = 0, n_fit = 0;
    while (!cs_text_equal(cs_rules[n_rules].name, "sizes_fit")) n_rules++;
    const struct cs_rule *fit = &cs_rules[n_rules];
    for (uint64_t i = 0; i < 2000; i++) {
        struct cs_fuzz_plan plan = {0};
        for (int a = 0; a < CS_N_AXES; a++)
            plan.axis[a] = (uint8_t)(cs_mix64(i * CS_N_AXES + (uint64_t)a + 1) % cs_axis((enum cs_axis_id)a)->n);
        bool is_sane = cs_rules[0].holds(&plan) && cs_rules[1].holds(&plan) && cs_rules[2].holds(&plan);
        plan.axis[CS_AXIS_engine] = 0;
        if (!is_sane || !fit->holds(&plan)) continue;
        plan.axis[CS_AXIS_engine] = 1;
        assert_true(fit->holds(&plan));
        n_fit++;
    }
    assert_true(n_fit > 20);
}

static void a_canary_is_found(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_fuzz_plan plan = plan_of(
        "seed=5 backend=gpt_oss_mxfp4/flashinfer_trtllm loader=gpt_oss_combined ranks=tp2 layers=1 experts=1 hidden=64 "
        "intermediate=192 beside=nothing rounding=released allocator=random device=ref start=cold_start arrival=file engine=released "
        "policy=record_and_fill steps=A,layerwise.other_loader:B");
    const struct cs_judge_options canary = {.defects = CS_DEFECT_BIT(CS_DEFECT_STREAMED_PADDED_SPLIT)};
    struct cs_fuzz_result result;
    assert_int_equal(judge(&plan, &arena).outcome, CS_FUZZ_PASSED);
    assert_ok(cs_fuzz_judge(&plan, &canary, &arena, &result));
    assert_int_equal(result.outcome, CS_FUZZ_FAILED);
    cs_arena_release(&arena);
}

static void a_doubled_judgement_is_the_same(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_fuzz_plan plan = plan_of(PADDED "policy=none steps=A,direct:B");
    const struct cs_judge_options once = {0}, twice = {.is_doubled = true};
    struct cs_fuzz_result a, b;
    assert_ok(cs_fuzz_judge(&plan, &once, &arena, &a));
    assert_ok(cs_fuzz_judge(&plan, &twice, &arena, &b));
    assert_string_equal(a.fingerprint.text, b.fingerprint.text);
    assert_int_equal(a.digest, b.digest);
    cs_arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_that_nobody_refills_is_found_and_named),
        cmocka_unit_test(the_same_plan_with_records_holds),
        cmocka_unit_test(records_of_a_raw_load_do_not_reach_the_next),
        cmocka_unit_test(a_load_of_nothing_changes_nothing_whatever_was_held),
        cmocka_unit_test(a_retry_of_a_stopped_load_is_judged),
        cmocka_unit_test(a_model_built_on_meta_is_judged_where_it_knows_its_padding_values),
        cmocka_unit_test(tensors_without_elements_are_not_lost),
        cmocka_unit_test(ranks_that_complete_other_layers_do_not_meet),
        cmocka_unit_test(nothing_is_expected_of_a_server_that_slept_in_a_stopped_load),
        cmocka_unit_test(what_follows_a_refused_step_is_judged),
        cmocka_unit_test(the_arrival_axis_reaches_the_start_and_plain_loads),
        cmocka_unit_test(a_verdict_says_after_which_loads_a_module_waited),
        cmocka_unit_test(a_direct_load_after_a_stopped_layerwise_one_is_refused),
        cmocka_unit_test(each_law_is_the_only_one_to_see_a_fault),
        cmocka_unit_test(a_repeated_scale_is_explained_as_far_as_it_goes),
        cmocka_unit_test(what_stands_beside_experts_is_judged),
        cmocka_unit_test(a_tie_is_found_with_the_prefix_or_without_it),
        cmocka_unit_test(sizes_that_fit_the_release_fit_without_its_faults),
        cmocka_unit_test(a_canary_is_found),
        cmocka_unit_test(a_doubled_judgement_is_the_same),
    };
    omp_set_num_threads(1); /* plans are tiny: threads would only wait for each other */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
