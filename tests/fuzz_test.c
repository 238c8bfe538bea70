/* Plans, their guarantees, their text and their Lua, the oracle, and shrinking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fuzz/fuzz.h"
#include "sim/script/script.h"
#include "tests/support_cli.h"
#include "tests/support_files.h"
#include "tests/support_fuzz.h"
#include "tests/support_session.h"

static void allow_ref_only(struct cs_fuzz_space *space) {
    for (size_t i = 1; i < cs_axis(CS_AXIS_device)->n; i++) space->is_left_out[CS_AXIS_device][i] = true;
    for (size_t i = 0; i < cs_axis(CS_AXIS_policy)->n; i++)
        space->is_left_out[CS_AXIS_policy][i] = !cs_text_equal(cs_axis_value(CS_AXIS_policy, i), "record_and_fill");
}

static struct cs_plan_stream *stream_of(uint64_t seed, int t) {
    struct cs_stream_options options = {.seed = seed, .t = t, .depth = 1};
    struct cs_plan_stream *stream;
    allow_ref_only(&options.space);
    assert_ok(cs_stream_open(&options, &stream));
    return stream;
}

/* ---- guarantees ---- */

/* A space small enough to look at every plan of it: 3 back ends, ranks, experts, 2 hidden sizes, the rest fixed. */
static bool is_in_small_space(int axis, size_t value) {
    switch (axis) {
    case CS_AXIS_backend: return value < 3;
    case CS_AXIS_loader:
    case CS_AXIS_ranks:
    case CS_AXIS_experts: return true;
    case CS_AXIS_hidden: return value < 2;
    default: return value == 0;
    }
}

/* Pairs of values of `a` and `b` that some legal plan of the space has, by looking at all of them. */
static int64_t count_pairs(struct cs_legal_memo *memo, bool *seen) {
    struct cs_fuzz_plan plan = {0};
    enum { A = CS_AXIS_VALUES };
    memset(seen, 0, (size_t)CS_N_AXES * CS_N_AXES * A * A);
    for (plan.axis[CS_AXIS_backend] = 0; plan.axis[CS_AXIS_backend] < 3; plan.axis[CS_AXIS_backend]++)
        for (plan.axis[CS_AXIS_loader] = 0; plan.axis[CS_AXIS_loader] < cs_axis(CS_AXIS_loader)->n; plan.axis[CS_AXIS_loader]++)
            for (plan.axis[CS_AXIS_ranks] = 0; plan.axis[CS_AXIS_ranks] < cs_axis(CS_AXIS_ranks)->n; plan.axis[CS_AXIS_ranks]++)
                for (plan.axis[CS_AXIS_experts] = 0; plan.axis[CS_AXIS_experts] < cs_axis(CS_AXIS_experts)->n; plan.axis[CS_AXIS_experts]++)
                    for (plan.axis[CS_AXIS_hidden] = 0; plan.axis[CS_AXIS_hidden] < 2; plan.axis[CS_AXIS_hidden]++) {
                        if (!cs_axes_are_legal(memo, &plan)) continue;
                        for (int a = 0; a < CS_N_AXES; a++)
                            for (int b = a + 1; b < CS_N_AXES; b++)
                                seen[((size_t)(a * CS_N_AXES + b) * A + plan.axis[a]) * A + plan.axis[b]] = true;
                    }
    int64_t n = 0;
    for (size_t i = 0; i < (size_t)CS_N_AXES * CS_N_AXES * A * A; i++) n += seen[i];
    return n;
}

static void a_covering_array_has_every_pair_that_some_legal_plan_has(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_fuzz_space space = {0};
    for (int a = 0; a < CS_N_AXES; a++)
        for (size_t v = 0; v < cs_axis((enum cs_axis_id)a)->n; v++) space.is_left_out[a][v] = !is_in_small_space(a, v);
    struct cs_axes_cover cover;
    struct cs_recount recount;
    bool *seen = malloc((size_t)CS_N_AXES * CS_N_AXES * CS_AXIS_VALUES * CS_AXIS_VALUES);
    struct cs_legal_memo *memo = calloc(1, sizeof *memo), *other = calloc(1, sizeof *other);
    assert_true(seen && memo && other);
    assert_ok(cs_axes_cover(2, 1, &space, other, &arena, &cover));
    assert_ok(cs_recount(2, cover.rows, cover.n_rows, &recount));
    assert_int_equal(cover.n_tuples, count_pairs(memo, seen));
    assert_int_equal(recount.tuples, cover.n_tuples);
    free(seen), free(memo), free(other);
    cs_arena_release(&arena);
}

static void every_order_of_two_steps_is_in_some_sequence(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_orders_cover cover;
    struct cs_recount recount;
    assert_ok(cs_orders_cover(2, 7, &arena, &cover));
    assert_ok(cs_recount(2, cover.rows, cover.n_rows, &recount));
    int64_t n = 0; /* letters that can be at all: finished tensors have no order, and patches are raw */
    for (size_t letter = 0; letter < cs_n_letters(); letter++) {
        const struct cs_driver *driver = cs_letter_driver(letter);
        bool has_tensors = driver->takes != CS_TAKES_KERNEL_TENSORS || !cs_letter_manner(letter)->needs_tensors;
        n += has_tensors && (!cs_letter_manner(letter)->needs_raw || cs_text_equal(driver->name, "raw"));
    }
    assert_true(n < (int64_t)cs_n_letters());
    assert_int_equal(cover.n_orders, n * (n - 1));
    assert_int_equal(recount.orders, cover.n_orders);
    cs_arena_release(&arena);
}

/* Two plans, counted by hand: 16 axes give 120 pairs each; they differ in two axes, so 91 pairs are common; orders AB of
 * one and BA of the other. */
static void the_recount_counts_what_a_hand_counts(void **state) {
    (void)state;
    struct cs_fuzz_plan plans[] = {plan_of(PADDED "policy=none steps=A,layerwise:B,direct:C"),
                                   plan_of(PADDED "policy=none steps=A,direct:B,layerwise:C")};
    plans[1].axis[CS_AXIS_hidden] = plans[1].axis[CS_AXIS_layers] = 0;
    struct cs_recount recount;
    assert_ok(cs_recount(2, plans, 2, &recount));
    assert_int_equal(CS_N_AXES, 16);
    assert_int_equal(recount.tuples, 120 + 120 - 91);
    assert_int_equal(recount.orders, 2);
}

static void the_guaranteed_plans_keep_what_both_arrays_promise(void **state) {
    (void)state;
    struct cs_plan_stream *stream = stream_of(3, 1);
    size_t n;
    const struct cs_fuzz_plan *plans = cs_stream_guaranteed(stream, &n);
    struct cs_recount recount;
    assert_ok(cs_recount(1, plans, n, &recount));
    assert_int_equal(recount.tuples, cs_stream_axes(stream)->n_tuples);
    assert_int_equal(recount.orders, cs_stream_orders(stream)->n_orders);
    cs_stream_close(stream);
}

/* ---- the stream ---- */

static void plans_are_a_function_of_the_seed(void **state) {
    (void)state;
    struct cs_plan_stream *a = stream_of(3, 1), *b = stream_of(3, 1), *c = stream_of(4, 1);
    size_t n = cs_stream_n_fixed(a) + 100, n_other = 0;
    for (size_t i = 0; i < n; i++) {
        struct cs_fuzz_plan plans[3];
        enum cs_part part;
        const struct cs_rule *rule;
        assert_ok(cs_stream_next(a, &plans[0], &part, &rule));
        assert_ok(cs_stream_next(b, &plans[1], &part, &rule));
        assert_ok(cs_stream_next(c, &plans[2], &part, &rule));
        assert_int_equal(cs_fuzz_plan_key(&plans[0]), cs_fuzz_plan_key(&plans[1]));
        n_other += cs_fuzz_plan_key(&plans[0]) != cs_fuzz_plan_key(&plans[2]);
    }
    assert_true(n_other > n / 2);
    cs_stream_close(a), cs_stream_close(b), cs_stream_close(c);
}

static void every_rule_and_every_breakage_is_broken_on_purpose_and_refused(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_plan_stream *stream = stream_of(1, 1);
    bool is_broken[64] = {0}, is_breakage[64] = {0};
    enum cs_part part = CS_PART_GUARANTEED;
    while (part != CS_PART_EXHAUSTIVE) {
        struct cs_fuzz_plan plan;
        const struct cs_rule *rule;
        assert_ok(cs_stream_next(stream, &plan, &part, &rule));
        if (part != CS_PART_ILLEGAL) continue;
        struct cs_fuzz_result result = judge(&plan, &arena);
        char text[CS_PLAN_TEXT];
        if (result.outcome != CS_FUZZ_REFUSED) fail_msg("%s: %s", cs_fuzz_plan_text(&plan, text), result.reason);
        if (rule) is_broken[rule - cs_rules] = true;
        if (plan.breakage) is_breakage[plan.breakage - 1] = true;
    }
    for (size_t i = 0; i < cs_n_rules; i++)
        if (!is_broken[i]) fail_msg("rule %s was never broken", cs_rules[i].name);
    for (size_t i = 0; i < cs_n_breakages; i++)
        if (!is_breakage[i]) fail_msg("breakage %s never happened", cs_breakages[i].name);
    cs_stream_close(stream);
    cs_arena_release(&arena);
}

/* One in sixteen plans at random, too: where rules are broken one after the other, and with other plans around. */
static void some_plans_at_random_are_illegal_and_refused(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_plan_stream *stream = stream_of(7, 1);
    size_t n_illegal = 0;
    for (size_t n = cs_stream_n_fixed(stream) + 400; n > 0; n--) {
        struct cs_fuzz_plan plan;
        const struct cs_rule *rule;
        enum cs_part part;
        assert_ok(cs_stream_next(stream, &plan, &part, &rule));
        assert_ptr_equal(rule, part == CS_PART_ILLEGAL || plan.breakage ? rule : cs_rule_broken(NULL, &plan));
        if (part != CS_PART_RANDOM || !(rule || plan.breakage)) continue;
        n_illegal++;
        assert_int_equal(judge(&plan, &arena).outcome, CS_FUZZ_REFUSED);
    }
    assert_in_range(n_illegal, 10, 50);
    cs_stream_close(stream);
    cs_arena_release(&arena);
}

/* ---- text ---- */

static void a_plan_survives_its_text(void **state) {
    (void)state;
    struct cs_plan_stream *stream = stream_of(9, 1);
    for (size_t i = 0; i < cs_stream_n_fixed(stream) + 50; i++) {
        struct cs_fuzz_plan plan, again;
        enum cs_part part;
        const struct cs_rule *rule;
        char text[CS_PLAN_TEXT], second[CS_PLAN_TEXT];
        assert_ok(cs_stream_next(stream, &plan, &part, &rule));
        assert_ok(cs_fuzz_plan_parse(cs_fuzz_plan_text(&plan, text), &again));
        assert_string_equal(text, cs_fuzz_plan_text(&again, second));
    }
    cs_stream_close(stream);
}

static void a_bad_plan_names_the_word(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"seed=x", "seed=x"},
        {"seed=-1", "seed=-1"},
        {"seed=18446744073709551616", "below 2^64"},
        {"layers=1 layers=2", "layers= is twice"},
        {"layers", "expected KEY=VALUE"},
        {"layers=3", "axis layers has no value \"3\""},
        {"device=reff", "did you mean \"ref\""},
        {"colour=red", "\"colour=red\" of a plan: unknown"},
        {"steps=A,layerwise", "expected DRIVER.MANNER:CHECKPOINT"},
        {"steps=A,sideways:B", "no driver and manner"},
        {"steps=Z", "expected A to E"},
        {"seed=1", "a plan without backend="},
    };
    for (size_t i = 0; i < CS_COUNT(bad); i++) {
        struct cs_fuzz_plan plan;
        assert_int_equal(cs_fuzz_plan_parse(bad[i].text, &plan), CS_BAD_VALUE);
        assert_says(cs_error_text(), bad[i].says);
    }
}

/* ---- Lua ---- */

static void assert_same_op(const struct cs_op *a, const struct cs_op *b) {
    assert_int_equal(a->kind, b->kind);
    assert_true(cs_text_equal(a->driver ? a->driver : "", b->driver ? b->driver : ""));
    assert_true(cs_text_equal(a->checkpoint ? a->checkpoint : "", b->checkpoint ? b->checkpoint : ""));
    assert_true(cs_text_equal(a->loader ? a->loader : "", b->loader ? b->loader : ""));
    assert_int_equal(a->is_shuffled, b->is_shuffled);
    assert_int_equal(a->is_reversed, b->is_reversed);
    assert_int_equal(a->shuffles_modules, b->shuffles_modules);
    assert_int_equal(a->n_duplicated, b->n_duplicated);
    assert_int_equal(a->n_unknown, b->n_unknown);
    assert_int_equal(a->is_stopped, b->is_stopped);
    assert_int_equal(a->stop_after, b->stop_after);
    assert_int_equal(a->bucket_tensors, b->bucket_tensors);
    assert_int_equal(a->replays_records, b->replays_records);
    assert_int_equal(a->sleep_level, b->sleep_level);
    assert_int_equal(a->is_patch, b->is_patch);
    assert_int_equal(a->has_only, b->has_only);
    assert_int_equal(a->n_only, b->n_only);
    for (size_t i = 0; i < a->n_only; i++) assert_string_equal(a->only[i], b->only[i]);
    assert_int_equal(a->n_omitted, b->n_omitted);
    for (size_t i = 0; i < a->n_omitted; i++) assert_string_equal(a->omitted[i], b->omitted[i]);
    assert_int_equal(a->n_expected, b->n_expected);
    for (size_t i = 0; i < a->n_expected; i++) {
        assert_int_equal(a->expected[i].is_refused, b->expected[i].is_refused);
        assert_memory_equal(a->expected[i].has_count, b->expected[i].has_count, sizeof a->expected[i].has_count);
        assert_memory_equal(a->expected[i].count, b->expected[i].count, sizeof a->expected[i].count);
    }
}

/* Every axis value and every letter is in the plans of strength 1. */
static void the_script_reads_back_what_was_written(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_plan_stream *stream = stream_of(2, 1);
    size_t n;
    const struct cs_fuzz_plan *plans = cs_stream_guaranteed(stream, &n);
    assert_int_equal(enter_new_folder(), 0);
    for (size_t i = 0; i < n; i++) {
        struct cs_scenario written, read;
        const char *comment[] = {"a line"};
        assert_ok(cs_fuzz_scenario(&plans[i], "fuzz.x", &arena, &written));
        const char *text = cs_scenario_lua(&written, comment, 1, &arena);
        assert_non_null(text);
        write_text("x.lua", text);
        assert_ok(cs_script_load("x.lua", &arena, &read));
        assert_string_equal(text, cs_scenario_lua(&read, comment, 1, &arena));
        assert_int_equal(written.n_ops, read.n_ops);
        for (size_t o = 0; o < written.n_ops; o++) assert_same_op(&written.ops[o], &read.ops[o]);
        assert_memory_equal(&written.allocator, &read.allocator, sizeof written.allocator);
    }
    assert_int_equal(leave_folder(), 0);
    cs_stream_close(stream);
    cs_arena_release(&arena);
}

/* ---- shrinking ---- */

/* Fails when a direct reload comes after a layerwise one, with more than one expert. */
static enum cs_status fails_by_hand(void *context, const struct cs_fuzz_plan *plan, bool *fails) {
    size_t *n_asked = context, i = 0;
    ++*n_asked;
    while (i < plan->n_steps && !cs_text_equal(cs_letter_driver(plan->step[i].letter)->name, "layerwise")) i++;
    for (i++; i < plan->n_steps; i++)
        if (cs_text_equal(cs_letter_driver(plan->step[i].letter)->name, "direct") && plan->axis[CS_AXIS_experts] > 0) {
            *fails = true;
            return CS_OK;
        }
    *fails = false;
    return CS_OK;
}

#define LONG_STEPS                                                                                                     \
    "policy=none steps=C,direct:D,layerwise.shuffled:B,layerwise.partial:C,direct.nothing:A,direct.same:B,layerwise:C"
#define SHORT_PLAN                                                                                                     \
    "seed=1 backend=gpt_oss_mxfp4/flashinfer_trtllm loader=gpt_oss_combined ranks=tp1 layers=1 experts=2 hidden=64 "   \
    "intermediate=64 beside=nothing rounding=released allocator=random policy=none device=ref start=cold_start arrival=file engine=released layer=usual "       \
    "steps=A,layerwise:B,direct:A"

static void shrinking_ends_at_a_local_minimum(void **state) {
    (void)state;
    size_t n_asked = 0;
    struct cs_fuzz_plan plan = plan_of(PADDED LONG_STEPS);
    const struct cs_shrink_options options = {fails_by_hand, &n_asked, 1000, 60};
    struct cs_shrunk shrunk;
    char text[CS_PLAN_TEXT];
    assert_ok(cs_fuzz_shrink(&options, &plan, &shrunk));
    assert_string_equal(cs_fuzz_plan_text(&plan, text), SHORT_PLAN);
    assert_true(shrunk.is_minimal);
    assert_int_equal(shrunk.n_runs, n_asked);
}

static void shrinking_goes_on_where_its_budget_ended(void **state) {
    (void)state;
    size_t n_asked = 0;
    struct cs_fuzz_plan plan = plan_of(PADDED LONG_STEPS);
    const struct cs_shrink_options little = {fails_by_hand, &n_asked, 12, 60}, rest = {fails_by_hand, &n_asked, 1000, 60};
    struct cs_shrunk shrunk;
    char text[CS_PLAN_TEXT];
    assert_ok(cs_fuzz_shrink(&little, &plan, &shrunk));
    assert_int_equal(shrunk.n_runs, 12);
    assert_false(shrunk.is_minimal);
    assert_true(plan.n_steps < 6); /* something was won already */
    assert_ok(cs_fuzz_shrink(&rest, &plan, &shrunk));
    assert_true(shrunk.is_minimal);
    assert_string_equal(cs_fuzz_plan_text(&plan, text), SHORT_PLAN);
}

static enum cs_status fails_really(void *context, const struct cs_fuzz_plan *plan, bool *fails) {
    const char *fingerprint = context;
    struct cs_arena arena = {0};
    struct cs_fuzz_result result = judge(plan, &arena);
    *fails = result.outcome == CS_FUZZ_FAILED && cs_text_equal(result.fingerprint.text, fingerprint);
    cs_arena_release(&arena);
    return CS_OK;
}

static void a_real_failure_becomes_one_step_and_one_expert(void **state) {
    (void)state;
    struct cs_fuzz_plan plan = plan_of(PADDED LONG_STEPS);
    char fingerprint[256];
    struct cs_arena arena = {0};
    snprintf(fingerprint, sizeof fingerprint, "%s", judge(&plan, &arena).fingerprint.text);
    const struct cs_shrink_options options = {fails_really, fingerprint, 1000, 60};
    struct cs_shrunk shrunk;
    assert_ok(cs_fuzz_shrink(&options, &plan, &shrunk));
    assert_true(shrunk.is_minimal);
    assert_int_equal(plan.n_steps, 1);
    assert_string_equal(cs_axis_value(CS_AXIS_experts, plan.axis[CS_AXIS_experts]), "1");
    assert_string_equal(judge(&plan, &arena).fingerprint.text, fingerprint);
    cs_arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_covering_array_has_every_pair_that_some_legal_plan_has),
        cmocka_unit_test(every_order_of_two_steps_is_in_some_sequence),
        cmocka_unit_test(the_recount_counts_what_a_hand_counts),
        cmocka_unit_test(the_guaranteed_plans_keep_what_both_arrays_promise),
        cmocka_unit_test(plans_are_a_function_of_the_seed),
        cmocka_unit_test(every_rule_and_every_breakage_is_broken_on_purpose_and_refused),
        cmocka_unit_test(some_plans_at_random_are_illegal_and_refused),
        cmocka_unit_test(a_plan_survives_its_text),
        cmocka_unit_test(a_bad_plan_names_the_word),
        cmocka_unit_test(the_script_reads_back_what_was_written),
        cmocka_unit_test(shrinking_ends_at_a_local_minimum),
        cmocka_unit_test(shrinking_goes_on_where_its_budget_ended),
        cmocka_unit_test(a_real_failure_becomes_one_step_and_one_expert),
    };
    omp_set_num_threads(1); /* plans are tiny: threads would only wait for each other */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
