/* Verdicts: channels (R8.1), luck (R8.3), refusals (R8.4), the first difference and its explanation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim/audit/expect.h"
#include "tests/support_session.h"

/* ---- one plan: cold start of A on line 2, reload of B on line 3, expectation on line 4 ---- */

static struct cs_arena arena;
static struct cs_verdict verdict;
static struct cs_op plan[3];
static struct cs_expected expected;

static int forget(void **state) {
    (void)state;
    cs_arena_release(&arena);
    return 0;
}

static void write_plan(struct cs_scenario *scenario, const char *start, const char *driver) {
    plan[0] = (struct cs_op){.kind = CS_OP_COLD_START, .line = 2, .driver = start, .checkpoint = "A"};
    plan[1] = (struct cs_op){.kind = CS_OP_RELOAD, .line = 3, .driver = driver, .checkpoint = "B"};
    plan[2] = (struct cs_op){.kind = CS_OP_EXPECT, .line = 4, .n_expected = 1, .expected = &expected};
    scenario->n_ops = 3, scenario->ops = plan;
    expected = (struct cs_expected){.is_equal = true};
}

static void expect_count(enum cs_count count, int64_t value) {
    expected.is_equal = false;
    expected.has_count[count] = true;
    expected.count[count] = value;
}

static void audit(const struct cs_scenario *scenario, const char *policy) {
    const struct cs_audit_options options = {.device = cs_device_by_name("ref"), .policy = policy, .seed = 1};
    assert_ok(cs_audit_scenario(scenario, &options, &arena, &verdict));
}

static void assert_status(enum cs_verdict_status status, const char *reason) {
    if (verdict.status != status) fail_msg("%s: %s", cs_verdict_status_name(verdict.status), verdict.reason ? verdict.reason : "");
    if (reason) assert_says(verdict.reason, reason);
    else assert_null(verdict.reason);
}

struct sides { int64_t differ, moved, extra, sides_differ; };

static void assert_channels(struct sides want) {
    assert_int_equal(verdict.count[CS_COUNT_params_differ], want.differ);
    assert_int_equal(verdict.count[CS_COUNT_side_moved], want.moved);
    assert_int_equal(verdict.count[CS_COUNT_side_extra], want.extra);
    assert_int_equal(verdict.count[CS_COUNT_side_differ], want.sides_differ);
    assert_int_equal(verdict.count[CS_COUNT_side_missing] + verdict.count[CS_COUNT_params_moved] + verdict.count[CS_COUNT_alias_differ], 0);
}

static void audit_gpt_oss(const char *backend, int64_t layers, const char *driver, const char *policy) {
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.backend = backend;
    scenario.model.layers = layers;
    write_plan(&scenario, "cold_start", driver);
    audit(&scenario, policy);
}

/* ---- channels of a gpt-oss layer (R4: 6 parameters, 3 constants, 4 tensors of the config) ---- */

/* R4.1: everything garbage → every parameter; what is carried by the config's orphans differs too. */
static void layerwise_moves_constants_and_orphans_the_config(void **state) {
    (void)state;
    for (int64_t layers = 1; layers <= 2; layers++) {
        audit_gpt_oss("flashinfer_trtllm", layers, "layerwise", "none");
        assert_int_equal(verdict.params_total, 6 * layers);
        assert_channels((struct sides){6 * layers, 3 * layers, 4 * layers, 4 * layers});
        assert_status(CS_FAILED, "line 4: params_differ: expected 0, got");
        audit_gpt_oss("flashinfer_trtllm", layers, "layerwise", "record_and_fill");
        assert_channels((struct sides){0, 3 * layers, 4 * layers, 0});
        assert_int_equal(verdict.count[CS_COUNT_fill_calls], layers);
        assert_int_equal(verdict.count[CS_COUNT_fill_regions], 10 * layers);
        assert_int_equal(verdict.count[CS_COUNT_params_lucky], 0);
    }
}

/* R4.3: w13 and w2 bias and scale; weights stay right, nothing is orphaned. */
static void direct_leaves_stale_biases_and_scales(void **state) {
    (void)state;
    const struct { const char *policy; int64_t differ; } rows[] = {{"none", 4}, {"zero_materialized", 4}, {"zero_in_loader", 0}, {"record_and_fill", 0}};
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        audit_gpt_oss("flashinfer_trtllm", 1, "direct", rows[i].policy);
        assert_channels((struct sides){rows[i].differ, 3, 0, 0});
    }
}

/* R4.8: no rounding here (I = H = 96 = 3 · 32), no constants: parameters equal, 4 extra. */
static void emulation_has_extras_only(void **state) {
    (void)state;
    audit_gpt_oss("emulation", 1, "layerwise", "none");
    assert_channels((struct sides){0, 0, 4, 0});
}

/* R4.1's allocator: fresh memory zero, blocks up to 8 KiB recycled with garbage. Kernel bytes: w13 64 Ki, w2 32 Ki, scales 4 Ki and
 * 2 Ki, biases 2 Ki: weights are right by luck. The count is judged on the first run. */
static void small_recycled_blocks_make_four_of_six_differ(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.allocator = (struct cs_allocator_rule){.recycle_up_to = 8192};
    scenario.model.layers = 2;
    write_plan(&scenario, "cold_start", "layerwise");
    expect_count(CS_COUNT_params_differ, 8);
    audit(&scenario, "none");
    assert_channels((struct sides){8, 6, 8, 8});
    assert_int_equal(verdict.count[CS_COUNT_params_lucky], 4);
    assert_true(verdict.is_lucky);
    assert_status(CS_PASSED, NULL);
}

/* Whatever the order of drivers, checkpoints and loaders: with records, no parameter differs; R4.10 b has experts in parallel. */
static void records_survive_any_order_of_reloads(void **state) {
    (void)state;
    const struct { int tp, ep; int64_t experts, intermediate; } rows[] = {{1, 1, 2, 96}, {2, 1, 2, 96}, {4, 1, 2, 160}, {1, 2, 5, 96}};
    static const struct { const char *driver, *checkpoint, *loader; } reloads[] = {
        {"direct", "B", NULL}, {"layerwise", "C", "gpt_oss_streamed"}, {"direct", "A", "gpt_oss_streamed"}, {"direct", "C", NULL}, {"layerwise", "B", NULL}};
    enum { N = CS_COUNT(reloads) };
    struct cs_op ops[1 + 2 * N] = {{.kind = CS_OP_COLD_START, .line = 2, .driver = "cold_start", .checkpoint = "A"}};
    expected = (struct cs_expected){0};
    expect_count(CS_COUNT_params_differ, 0);
    for (size_t i = 0; i < N; i++) {
        ops[1 + 2 * i] = (struct cs_op){.kind = CS_OP_RELOAD, .driver = reloads[i].driver, .checkpoint = reloads[i].checkpoint, .loader = reloads[i].loader, .is_shuffled = true};
        ops[2 + 2 * i] = (struct cs_op){.kind = CS_OP_EXPECT, .line = (int)i, .n_expected = 1, .expected = &expected};
    }
    for (size_t r = 0; r < CS_COUNT(rows); r++) {
        struct cs_scenario scenario = gpt_oss_scenario();
        scenario.tp = rows[r].tp, scenario.ep = rows[r].ep;
        scenario.model.experts = rows[r].experts, scenario.model.intermediate = rows[r].intermediate;
        scenario.n_ops = CS_COUNT(ops), scenario.ops = ops;
        audit(&scenario, "record_and_fill");
        assert_status(CS_PASSED, NULL);
        assert_int_equal(verdict.n_expectations, N);
        assert_int_equal(verdict.count[CS_COUNT_params_lucky], 0);
    }
}

/* ---- channels of hand-made states ---- */

static struct cs_module_spec module_spec = {.name = "m"};

#define ENTRY(kind_, name_, id, digest_, alias) \
    {.kind = kind_, .spec = &module_spec, .name = name_, .storage_id = id, .digest = digest_, .is_alias = alias, .view = {.dtype = CS_U8, .ndim = 1, .shape = {8}, .stride = {1}}}

static int64_t counts[CS_N_COUNTS];
static const struct cs_entry *first;

static void compare(struct cs_entry *now, size_t n_now, struct cs_entry *cold, size_t n_cold, struct cs_entry *own, size_t n_own) {
    const struct cs_state a = {.n = n_now, .entries = now}, b = {.n = n_cold, .entries = cold}, c = {.n = n_own, .entries = own};
    int64_t total;
    memset(counts, 0, sizeof counts);
    cs_state_compare(&a, &b, &c, counts, &total, &first);
}

static void each_side_channel_has_its_own_case(void **state) {
    (void)state;
    struct cs_entry cold[] = {ENTRY(CS_ENTRY_PARAM, "p", 1, 5, false), ENTRY(CS_ENTRY_SIDE, "stays", 2, 5, false), ENTRY(CS_ENTRY_SIDE, "moves", 3, 5, false),
                              ENTRY(CS_ENTRY_SIDE, "refers", 1, 5, true), ENTRY(CS_ENTRY_SIDE, "orphaned", 1, 5, true), ENTRY(CS_ENTRY_SIDE, "goes", 4, 5, false)};
    struct cs_entry now[] = {ENTRY(CS_ENTRY_PARAM, "p", 1, 5, false), ENTRY(CS_ENTRY_SIDE, "stays", 2, 6, false), ENTRY(CS_ENTRY_SIDE, "moves", 9, 5, false),
                             ENTRY(CS_ENTRY_SIDE, "refers", 1, 5, true), ENTRY(CS_ENTRY_SIDE, "orphaned", 8, 7, false)};
    compare(now, 5, cold, 6, cold, 6);
    assert_int_equal(counts[CS_COUNT_side_moved], 1);
    assert_int_equal(counts[CS_COUNT_side_extra], 1);
    assert_int_equal(counts[CS_COUNT_side_missing], 1);
    assert_int_equal(counts[CS_COUNT_side_differ], 2); /* "stays" and the orphan */
    assert_int_equal(counts[CS_COUNT_params_differ] + counts[CS_COUNT_params_moved] + counts[CS_COUNT_alias_differ], 0);
    assert_null(first);
}

/* Addresses are compared with this server's own start, bytes with the fresh one. */
static void a_moved_parameter_and_a_different_one(void **state) {
    (void)state;
    struct cs_entry own[] = {ENTRY(CS_ENTRY_PARAM, "p", 1, 4, false), ENTRY(CS_ENTRY_PARAM, "q", 2, 4, false)};
    struct cs_entry cold[] = {ENTRY(CS_ENTRY_PARAM, "p", 7, 5, false), ENTRY(CS_ENTRY_PARAM, "q", 8, 5, false)};
    struct cs_entry now[] = {ENTRY(CS_ENTRY_PARAM, "p", 3, 5, false), ENTRY(CS_ENTRY_PARAM, "q", 2, 6, false)};
    compare(now, 2, cold, 2, own, 2);
    assert_int_equal(counts[CS_COUNT_params_moved], 1);
    assert_int_equal(counts[CS_COUNT_params_differ], 1);
    assert_string_equal(first->name, "q");
    now[0].storage_id = 1, now[0].byte_offset = 16;
    compare(now, 2, cold, 2, own, 2);
    assert_int_equal(counts[CS_COUNT_params_moved], 1); /* another offset is another address */
}

static void names_that_appear_or_vanish_differ(void **state) {
    (void)state;
    struct cs_entry two[] = {ENTRY(CS_ENTRY_PARAM, "p", 1, 5, false), ENTRY(CS_ENTRY_PARAM, "q", 2, 5, false)};
    compare(two, 1, two, 2, two, 2);
    assert_int_equal(counts[CS_COUNT_params_differ], 1);
    compare(two, 2, two, 1, two, 1);
    assert_int_equal(counts[CS_COUNT_params_differ], 1);
}

static void a_tie_that_breaks_or_forms_differs(void **state) {
    (void)state;
    struct cs_entry tied[] = {ENTRY(CS_ENTRY_PARAM, "p", 1, 5, false), ENTRY(CS_ENTRY_PARAM, "q", 1, 5, false), ENTRY(CS_ENTRY_PARAM, "r", 2, 5, false)};
    struct cs_entry loose[] = {ENTRY(CS_ENTRY_PARAM, "p", 1, 5, false), ENTRY(CS_ENTRY_PARAM, "q", 3, 5, false), ENTRY(CS_ENTRY_PARAM, "r", 2, 5, false)};
    compare(loose, 3, tied, 3, tied, 3);
    assert_int_equal(counts[CS_COUNT_alias_differ], 1);
    compare(tied, 3, loose, 3, loose, 3);
    assert_int_equal(counts[CS_COUNT_alias_differ], 1);
    tied[1].rank = loose[1].rank = 1; /* storage ids of another rank mean nothing */
    compare(loose, 3, tied, 3, tied, 3);
    assert_int_equal(counts[CS_COUNT_alias_differ], 0);
}

static void shape_stride_and_dtype_count_as_bytes_do(void **state) {
    (void)state;
    struct cs_entry a = ENTRY(CS_ENTRY_PARAM, "p", 1, 5, false), b = a;
    assert_false(cs_entry_differs(&a, &b));
    b.view.shape[0] = 7;
    assert_true(cs_entry_differs(&a, &b));
    b = a, b.view.stride[0] = 2;
    assert_true(cs_entry_differs(&a, &b));
    b = a, b.view.dtype = CS_E4M3;
    assert_true(cs_entry_differs(&a, &b));
    b = a, b.storage_id = 9; /* an address is another channel */
    assert_false(cs_entry_differs(&a, &b));
}

/* ---- toys: p has 8 elements, loads write 4, then 6 ---- */

static struct cs_template_tensor toy_p = {.name = "p", .shape = "8", .kind = CS_PARAMETER, .dtype = CS_F32};
static const double one[] = {1}, seven[] = {7};
static const struct cs_toy_box tail4 = {{4}, {4}}, tail2 = {{6}, {2}};
static const struct cs_toy_call call4 = {.param = "p", .has_write = true, .write = {{0}, {4}}, .n_values = 1, .values = one, .n_marks = 1, .marks = &tail4};
static const struct cs_toy_call call6 = {.param = "p", .has_write = true, .write = {{0}, {6}}, .n_values = 1, .values = seven, .n_marks = 1, .marks = &tail2};
static const struct cs_toy_load loads[] = {{"A", 1, &call4}, {"B", 1, &call6}};

static struct cs_scenario toy(enum cs_init init, const char *driver) {
    toy_p.init = init;
    struct cs_scenario scenario = toy_scenario(&toy_p, 1, loads, 2);
    write_plan(&scenario, "cold_start", driver);
    return scenario;
}

/* R2.6, judged by values too. */
static void the_toy_of_the_requirements_passes(void **state) {
    (void)state;
    const double good[] = {7, 7, 7, 7, 7, 7, 0, 0}, bad[] = {7, 7, 7, 7, 7, 7, 0, 1};
    struct cs_expected_values values = {"p", 8, good};
    struct cs_scenario scenario = toy(CS_INIT_ZEROS, "layerwise");
    expected.n_values = 1, expected.values = &values;
    audit(&scenario, "record_and_fill");
    assert_status(CS_PASSED, NULL);
    assert_false(verdict.first.exists);
    values.values = bad;
    audit(&scenario, "record_and_fill");
    assert_status(CS_FAILED, "line 4: p[7]: expected 1, got 0");
}

/* R8.3: equal only because memory happened to be zero. */
static void equal_by_luck_is_mistrusted(void **state) {
    (void)state;
    struct cs_scenario scenario = toy(CS_INIT_ZEROS, "layerwise");
    scenario.allocator.fresh_reload.byte = 0;
    audit(&scenario, "none");
    assert_status(CS_MISTRUSTED, "line 4: equal by luck: 1 tensors");
    assert_int_equal(verdict.count[CS_COUNT_params_lucky], 1);
    expect_count(CS_COUNT_params_differ, 0); /* an exact count only reports it */
    audit(&scenario, "none");
    assert_status(CS_PASSED, NULL);
    assert_true(verdict.is_lucky);
    audit(&scenario, "zero_materialized");
    assert_status(CS_PASSED, NULL);
    assert_false(verdict.is_lucky);
}

static void a_cold_start_that_depends_on_memory_fails(void **state) {
    (void)state;
    struct cs_scenario scenario = toy(CS_INIT_EMPTY, "layerwise");
    expect_count(CS_COUNT_params_moved, 0); /* which holds */
    audit(&scenario, "none");
    assert_status(CS_FAILED, "cold_undetermined: toy.p of rank 0");
    audit(&scenario, "record_and_fill");
    assert_status(CS_PASSED, NULL);
}

/* R4.9: padding of a parameter created empty is now the fill value, and nothing else changes. */
static void cold_starts_of_two_policies_are_compared(void **state) {
    (void)state;
    const enum cs_init inits[] = {CS_INIT_EMPTY, CS_INIT_ZEROS};
    for (size_t i = 0; i < 2; i++) {
        struct cs_scenario scenario = toy(inits[i], "layerwise");
        plan[1] = plan[2], plan[1].against_policy = "none", scenario.n_ops = 2;
        expect_count(CS_COUNT_params_differ, inits[i] == CS_INIT_EMPTY);
        audit(&scenario, "record_and_fill");
        assert_status(CS_PASSED, NULL);
        assert_int_equal(verdict.params_total, 1);
    }
}

/* ---- refusals (R8.4, R8.5) ---- */

static struct cs_scenario refused_toy(void) {
    struct cs_scenario scenario = toy(CS_INIT_ZEROS, "layerwise");
    write_plan(&scenario, "meta_build", "layerwise");
    scenario.defects = CS_DEFECT_BIT(CS_DEFECT_META_RESTORE_DEVICE);
    return scenario;
}

static void a_refusal_that_is_expected_is_refused_not_failed(void **state) {
    (void)state;
    struct cs_scenario scenario = refused_toy();
    expected = (struct cs_expected){.is_refused = true, .refusal = "meta tensor"};
    audit(&scenario, "none");
    assert_status(CS_REFUSED_AS_UPSTREAM, NULL);
    assert_says(verdict.refused_reason, "Cannot copy out of meta tensor");
    expected.refusal = "out of paper";
    audit(&scenario, "none");
    assert_status(CS_FAILED, "expected refused(\"out of paper\"), but the load failed");
    expected = (struct cs_expected){.is_equal = true};
    audit(&scenario, "none");
    assert_status(CS_FAILED, "line 4: expected equal(), but the load failed");
}

static void a_refusal_that_does_not_come_fails(void **state) {
    (void)state;
    struct cs_scenario scenario = refused_toy();
    scenario.defects = 0;
    expected = (struct cs_expected){.is_refused = true};
    audit(&scenario, "none");
    assert_status(CS_FAILED, "but the load went through");
}

/* The released streamed loader raises at the start already: golden refuses it too. */
static void a_start_may_be_refused(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    write_plan(&scenario, "cold_start", "layerwise");
    scenario.tp = 2, scenario.loader = "gpt_oss_streamed", scenario.defects = CS_DEFECT_BIT(CS_DEFECT_STREAMED_PADDED_SPLIT);
    expected = (struct cs_expected){.is_refused = true, .refusal = "starts at 256 of 192"};
    plan[1] = plan[2], scenario.n_ops = 2;
    audit(&scenario, "none");
    assert_status(CS_REFUSED_AS_UPSTREAM, NULL);
}

static void what_is_not_implemented_fails(void **state) {
    (void)state;
    audit_gpt_oss("humming", 1, "layerwise", "none");
    assert_status(CS_FAILED, "gpt_oss_mxfp4 with humming has no post-load");
}

/* ---- expectations ---- */

static void each_policy_has_its_expectation(void **state) {
    (void)state;
    const struct cs_expected entries[] = {{.policy = "none", .is_refused = true}, {.policy = NULL}, {.policy = "record_and_fill", .is_equal = true}};
    struct cs_op op = {.kind = CS_OP_EXPECT, .n_expected = 3, .expected = entries};
    assert_ptr_equal(cs_expected_for(&op, "none"), &entries[0]);
    assert_ptr_equal(cs_expected_for(&op, "record_and_fill"), &entries[2]);
    assert_ptr_equal(cs_expected_for(&op, "zero_in_loader"), &entries[1]);
    op.n_expected = 1; /* R8.5: nothing said means equal() */
    assert_true(cs_expected_for(&op, "record_and_fill")->is_equal);
}

static void an_expectation_says_what_it_is_and_what_failed(void **state) {
    (void)state;
    struct cs_expected both = {.has_count = {[CS_COUNT_params_differ] = true, [CS_COUNT_side_moved] = true},
                               .count = {[CS_COUNT_params_differ] = 8, [CS_COUNT_side_moved] = 6}};
    int64_t count[CS_N_COUNTS] = {[CS_COUNT_params_differ] = 8};
    uint64_t seen = 0;
    assert_string_equal(cs_expected_text(&both, &arena), "params_differ = 8, side_moved = 6");
    assert_string_equal(cs_expected_judge(&both, count, &arena, &seen), "side_moved: expected 6, got 0");
    assert_int_equal(seen, CS_SEEN_BIT(CS_COUNT_side_moved));
    count[CS_COUNT_side_moved] = 6;
    assert_null(cs_expected_judge(&both, count, &arena, &seen));
    const struct cs_expected equal = {.is_equal = true};
    assert_string_equal(cs_expected_text(&equal, &arena), "equal()");
    for (int i = 0; i < CS_N_COUNTS; i++) { /* every channel of R8.1; fills and warnings only inform */
        int64_t only[CS_N_COUNTS] = {0};
        only[i] = 2;
        bool informs = i == CS_COUNT_params_lucky || i == CS_COUNT_gap_bytes || i >= CS_COUNT_fill_calls;
        assert_int_equal(cs_expected_judge(&equal, only, &arena, &seen) == NULL, informs);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(layerwise_moves_constants_and_orphans_the_config, forget),
        cmocka_unit_test_teardown(direct_leaves_stale_biases_and_scales, forget),
        cmocka_unit_test_teardown(emulation_has_extras_only, forget),
        cmocka_unit_test_teardown(small_recycled_blocks_make_four_of_six_differ, forget),
        cmocka_unit_test_teardown(records_survive_any_order_of_reloads, forget),
        cmocka_unit_test(each_side_channel_has_its_own_case),
        cmocka_unit_test(a_moved_parameter_and_a_different_one),
        cmocka_unit_test(names_that_appear_or_vanish_differ),
        cmocka_unit_test(a_tie_that_breaks_or_forms_differs),
        cmocka_unit_test(shape_stride_and_dtype_count_as_bytes_do),
        cmocka_unit_test_teardown(the_toy_of_the_requirements_passes, forget),
        cmocka_unit_test_teardown(equal_by_luck_is_mistrusted, forget),
        cmocka_unit_test_teardown(a_cold_start_that_depends_on_memory_fails, forget),
        cmocka_unit_test_teardown(cold_starts_of_two_policies_are_compared, forget),
        cmocka_unit_test_teardown(a_refusal_that_is_expected_is_refused_not_failed, forget),
        cmocka_unit_test_teardown(a_refusal_that_does_not_come_fails, forget),
        cmocka_unit_test_teardown(a_start_may_be_refused, forget),
        cmocka_unit_test_teardown(what_is_not_implemented_fails, forget),
        cmocka_unit_test(each_policy_has_its_expectation),
        cmocka_unit_test_teardown(an_expectation_says_what_it_is_and_what_failed, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
