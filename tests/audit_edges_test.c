/* Verdicts at the edges: refusals that nothing judges at once, one rank of several, values that cannot be judged, devices that
 * disagree, and first differences in tensors of every shape. Expected words and places are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim/audit/expect.h"
#include "tests/support_session.h"

static struct cs_arena arena;
static struct cs_verdict verdict;
static struct cs_op plan[5];
static struct cs_expected expected[2];

static int forget(void **state) {
    (void)state;
    cs_arena_release(&arena);
    return 0;
}

static void say_load(size_t i, const char *driver, const char *checkpoint) {
    plan[i] = (struct cs_op){.kind = i ? CS_OP_RELOAD : CS_OP_COLD_START, .line = (int)i + 2, .driver = driver, .checkpoint = checkpoint};
}

static void say_expect(size_t i, struct cs_expected wanted) {
    struct cs_expected *mine = &expected[i == 4];
    *mine = wanted;
    plan[i] = (struct cs_op){.kind = CS_OP_EXPECT, .line = (int)i + 2, .n_expected = 1, .expected = mine};
}

static void write_plan(struct cs_scenario *scenario, const char *driver) {
    say_load(0, "cold_start", "A");
    say_load(1, driver, "B");
    say_expect(2, (struct cs_expected){.is_equal = true});
    scenario->n_ops = 3, scenario->ops = plan;
}

static enum cs_status try_audit(const struct cs_scenario *scenario, const char *policy) {
    const struct cs_audit_options options = {.device = cs_device_by_name("ref"), .policy = policy, .seed = 1};
    return cs_audit_scenario(scenario, &options, &arena, &verdict);
}

static void audit(const struct cs_scenario *scenario, const char *policy) { assert_ok(try_audit(scenario, policy)); }

static void assert_status(enum cs_verdict_status status, const char *reason) {
    if (verdict.status != status) fail_msg("%s: %s", cs_verdict_status_name(verdict.status), verdict.reason ? verdict.reason : "");
    if (reason) assert_says(verdict.reason, reason);
    else assert_null(verdict.reason);
}

/* A parameter of `shape`, of which loads write the first row, or all of it. */
static struct cs_template_tensor tensor;
static struct cs_toy_call calls[2];
static struct cs_toy_load loads[2];
static const double one[] = {1}, two[] = {2};

static struct cs_scenario toy(const char *shape, enum cs_dtype dtype, struct cs_toy_box write) {
    tensor = (struct cs_template_tensor){.name = "p", .shape = shape, .kind = CS_PARAMETER, .dtype = dtype, .init = CS_INIT_ZEROS};
    calls[0] = (struct cs_toy_call){.param = "p", .has_write = true, .write = write, .n_values = 1, .values = one};
    calls[1] = calls[0], calls[1].values = two;
    loads[0] = (struct cs_toy_load){"A", 1, &calls[0]}, loads[1] = (struct cs_toy_load){"B", 1, &calls[1]};
    struct cs_scenario scenario = toy_scenario(&tensor, 1, loads, 2);
    write_plan(&scenario, "layerwise");
    return scenario;
}

/* ---- refusals ---- */

/* Positions beyond the only tensor: the load is refused by the engine here, and by no real one. */
static const size_t no_such_position[] = {1};

static void a_refused_load_that_nothing_judges_at_once_fails(void **state) {
    (void)state;
    struct cs_scenario scenario = toy("8", CS_F32, (struct cs_toy_box){{0}, {8}});
    plan[1].n_order = 1, plan[1].order = no_such_position;
    say_load(2, "layerwise", "A");
    say_expect(3, (struct cs_expected){.is_refused = true});
    scenario.n_ops = 4;
    audit(&scenario, "none");
    assert_status(CS_FAILED, "line 3: the load failed: arrival order names position 1 of 1 tensors");
}

/* F23: what the real engine refuses too counts as refused, even when its judge comes later; but nothing else can be judged then. */
static void after_a_refusal_of_the_engine_only_refusals_are_judged(void **state) {
    (void)state;
    struct cs_scenario scenario = toy("8", CS_F32, (struct cs_toy_box){{0}, {8}});
    scenario.defects = UINT64_C(1) << CS_DEFECT_META_RESTORE_DEVICE;
    plan[0].driver = "meta_build";
    say_load(2, "layerwise", "A");
    say_expect(3, (struct cs_expected){.is_refused = true});
    scenario.n_ops = 4;
    audit(&scenario, "none");
    assert_status(CS_REFUSED_AS_UPSTREAM, "line 3: the load failed: ");
    say_expect(3, (struct cs_expected){.is_equal = true});
    audit(&scenario, "none");
    assert_status(CS_FAILED, "line 5: not judged: the load before was refused, and there is no rollback");
    say_expect(3, (struct cs_expected){.is_refused = true});
    say_expect(4, (struct cs_expected){.has_count[CS_COUNT_params_differ] = true});
    scenario.n_ops = 5;
    audit(&scenario, "none");
    assert_status(CS_FAILED, "line 6: not judged");
}

static void a_start_that_fails_unexpectedly_is_an_error(void **state) {
    (void)state;
    struct cs_scenario scenario = toy("8", CS_F32, (struct cs_toy_box){{0}, {8}});
    plan[0].n_order = 1, plan[0].order = no_such_position;
    assert_int_equal(try_audit(&scenario, "none"), CS_BAD_INDEX);
    assert_says(cs_error_text(), "arrival order names position 1 of 1 tensors");
}

/* ---- one rank of two ---- */

/* 6 parameters, 3 constants and 4 tensors of the config in a layer and rank (R4.1), of rank 1 alone. */
static void one_rank_of_several_is_judged_alone(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    write_plan(&scenario, "layerwise");
    scenario.tp = 2, scenario.model.intermediate = 192, scenario.has_only_rank = true, scenario.only_rank = 1;
    audit(&scenario, "record_and_fill");
    assert_int_equal(verdict.n_ranks, 1);
    assert_int_equal(verdict.params_total, 6);
    assert_int_equal(verdict.count[CS_COUNT_params_differ], 0);
    assert_int_equal(verdict.count[CS_COUNT_side_moved], 3);
    assert_int_equal(verdict.count[CS_COUNT_side_extra], 4);
    audit(&scenario, "none");
    assert_true(verdict.first.exists);
    assert_int_equal(verdict.first.rank, 1);
}

/* ---- values and counts ---- */

static void values_need_a_parameter_of_that_size(void **state) {
    (void)state;
    static const double eight[] = {2, 2, 2, 2, 2, 2, 2, 2}, wrong[] = {2, 2, 2, 2, 3, 3, 2, 2};
    struct cs_expected_values values[] = {{"q", 8, eight}, {"p", 8, eight}};
    struct cs_scenario scenario = toy("8", CS_F32, (struct cs_toy_box){{0}, {8}});
    say_expect(2, (struct cs_expected){.n_values = 1, .values = values});
    assert_int_equal(try_audit(&scenario, "none"), CS_BAD_SCRIPT);
    assert_says(cs_error_text(), "values: the model has no parameter \"q\"");
    values[0] = (struct cs_expected_values){"p", 7, eight};
    assert_int_equal(try_audit(&scenario, "none"), CS_BAD_SCRIPT);
    assert_says(cs_error_text(), "values of p: 7 numbers for a parameter of 8 elements");
    values[0] = (struct cs_expected_values){"p", 8, wrong}; /* the first wrong element of the first wrong parameter speaks */
    expected[0].n_values = 2;
    audit(&scenario, "none");
    assert_status(CS_FAILED, "line 4: p[4]: expected 3, got 2");
}

static void every_wrong_count_is_named(void **state) {
    (void)state;
    struct cs_scenario scenario = toy("8", CS_F32, (struct cs_toy_box){{0}, {8}});
    struct cs_expected wanted = {.has_count = {[CS_COUNT_params_differ] = true, [CS_COUNT_params_moved] = true, [CS_COUNT_fill_calls] = true}};
    wanted.count[CS_COUNT_params_differ] = 5, wanted.count[CS_COUNT_fill_calls] = 2;
    say_expect(2, wanted);
    audit(&scenario, "none");
    assert_status(CS_FAILED, "line 4: params_differ: expected 5, got 0; fill_calls: expected 2, got 0");
    assert_string_equal(verdict.expected, "params_differ = 5, params_moved = 0, fill_calls = 2");
}

/* ---- devices ---- */

/* A recording of another scenario has fewer states, and other ones: every tensor that it lacks differs, and the first is named. */
static void tensors_that_the_reference_lacks_differ(void **state) {
    (void)state;
    struct cs_recording recording = {.arena = &arena};
    struct cs_audit_options options = {.device = cs_device_by_name("ref"), .policy = "none", .seed = 1, .recording = &recording};
    struct cs_scenario scenario = toy("8", CS_F32, (struct cs_toy_box){{0}, {8}});
    assert_ok(cs_audit_scenario(&scenario, &options, &arena, &verdict));
    const size_t n = recording.n;
    assert_true(n >= 3); /* a cold start, the same over other garbage, and the live server */
    recording.n = 1;
    options.recording = NULL, options.reference = &recording;
    assert_ok(cs_audit_scenario(&scenario, &options, &arena, &verdict));
    assert_int_equal(verdict.count[CS_COUNT_device_differ], n - 1);
    assert_status(CS_FAILED, "ref and ref disagree about ");
    assert_says(verdict.reason, "the first is toy.p of rank 0");
}

/* ---- the first difference, in tensors of every shape ---- */

static void assert_first(int64_t row, int64_t column, int64_t differs, int64_t total) {
    assert_true(verdict.first.exists);
    assert_int_equal(verdict.first.row, row);
    assert_int_equal(verdict.first.column, column);
    assert_int_equal(verdict.first.n_elements, differs);
    assert_int_equal(verdict.first.n_total, total);
}

static bool explains(const char *part) {
    for (size_t i = 0; i < verdict.n_why; i++)
        if (strstr(verdict.why[i], part)) return true;
    return false;
}

/* Loads write all but the last element of the last dimension; memory of a reload is 0xAA. */
static void coordinates_follow_the_shape(void **state) {
    (void)state;
    static const struct {
        const char *shape;
        struct cs_toy_box write;
        int64_t row, column, differs, total;
        const char *where;
    } rows[] = {
        {"4", {{0}, {3}}, 3, -1, 1, 4, "element 3"},
        {"2 4", {{0, 0}, {2, 3}}, 0, 3, 2, 8, "[0, 3]"},
        {"2 3 4", {{0, 0, 0}, {2, 3, 3}}, 0, 3, 6, 24, "expert 0, row 0, column 3"},
        {"2 2 2 4", {{0, 0, 0, 0}, {2, 2, 2, 3}}, 0, 3, 8, 32, "element 3"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        struct cs_scenario scenario = toy(rows[i].shape, CS_F32, rows[i].write);
        audit(&scenario, "none");
        assert_status(CS_FAILED, "params_differ: expected 0, got 1");
        assert_first(rows[i].row, rows[i].column, rows[i].differs, rows[i].total);
        if (!explains(rows[i].where)) fail_msg("%s: nothing says \"%s\"", rows[i].shape, rows[i].where);
    }
}

/* R8.4: what nobody implements fails, and says what it is. */
static void what_nobody_implements_fails(void **state) {
    (void)state;
    struct cs_scenario scenario = toy("8", CS_E2M1, (struct cs_toy_box){{0}, {6}});
    audit(&scenario, "none");
    assert_status(CS_FAILED, "toys cannot write e2m1");
}

/* ---- graphs ---- */

/* The reference, whose memory is counted. */
static struct {
    size_t alive, peak;
} memory;

static enum cs_status allocate(const struct cs_device *device, size_t bytes, void **data) {
    (void)device;
    memory.alive += bytes;
    if (memory.alive > memory.peak) memory.peak = memory.alive;
    return cs_device_by_name("ref")->allocate(cs_device_by_name("ref"), bytes, data);
}

static void release(const struct cs_device *device, void *data, size_t bytes) {
    (void)device;
    memory.alive -= data ? bytes : 0;
    cs_device_by_name("ref")->release(cs_device_by_name("ref"), data, bytes);
}

/* The most memory of a server that is reloaded n times, and captures graphs after each. */
static size_t peak_of_captures(size_t n) {
    enum { MOST = 16 };
    static struct cs_op ops[2 * MOST + 2];
    struct cs_scenario scenario = gpt_oss_scenario();
    struct cs_device device = *cs_device_by_name("ref");
    device.allocate = allocate, device.release = release;
    ops[0] = (struct cs_op){.kind = CS_OP_COLD_START, .line = 2, .driver = "cold_start", .checkpoint = "A"};
    for (size_t i = 0; i < n; i++) {
        ops[2 * i + 1] = (struct cs_op){.kind = CS_OP_RELOAD, .line = 3, .driver = "layerwise", .checkpoint = "A"};
        ops[2 * i + 2] = (struct cs_op){.kind = CS_OP_CAPTURE, .line = 4};
    }
    expected[0] = (struct cs_expected){.is_equal = true};
    ops[2 * n + 1] = (struct cs_op){.kind = CS_OP_EXPECT, .line = 5, .n_expected = 1, .expected = expected};
    scenario.n_ops = 2 * n + 2, scenario.ops = ops;
    memory.peak = memory.alive = 0;
    const struct cs_audit_options options = {.device = &device, .policy = "record_and_fill", .seed = 1};
    assert_ok(cs_audit_scenario(&scenario, &options, &arena, &verdict));
    assert_int_equal(memory.alive, 0);
    return memory.peak;
}

/* Each reload moves side tensors; what an old graph read goes back once a new one is captured. */
static void old_graphs_hold_no_memory(void **state) {
    (void)state;
    size_t few = peak_of_captures(3), many = peak_of_captures(12);
    if (many != few) fail_msg("%zu bytes at most with 3 graphs, %zu with 12", few, many);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_refused_load_that_nothing_judges_at_once_fails, forget),
        cmocka_unit_test_teardown(after_a_refusal_of_the_engine_only_refusals_are_judged, forget),
        cmocka_unit_test_teardown(a_start_that_fails_unexpectedly_is_an_error, forget),
        cmocka_unit_test_teardown(one_rank_of_several_is_judged_alone, forget),
        cmocka_unit_test_teardown(values_need_a_parameter_of_that_size, forget),
        cmocka_unit_test_teardown(every_wrong_count_is_named, forget),
        cmocka_unit_test_teardown(tensors_that_the_reference_lacks_differ, forget),
        cmocka_unit_test_teardown(coordinates_follow_the_shape, forget),
        cmocka_unit_test_teardown(what_nobody_implements_fails, forget),
        cmocka_unit_test_teardown(old_graphs_hold_no_memory, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
