/* Ways into a server beside cold start, layerwise and direct reload; what travels, in which order, and where it ends. Memory of a
 * reload is 0xAA when nobody wrote it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim/driver/layers.h"
#include "sim/method/methods.h"
#include "sim/session/internal.h"
#include "tests/support_session.h"

#define COLD (&cs_driver_cold_start)

static const struct cs_step cast_steps[] = {CS_DO_CAST("p", CS_F32), CS_DO_REPLACE("p")};
static const size_t n_cast_steps = CS_COUNT(cast_steps);
static const struct cs_backend cast = {.method = "toy", .name = "cast", .steps = cast_steps, .n_steps = &n_cast_steps};
static const struct cs_tensor_spec bf16_p[] = {PARAM("p", CS_BF16, CS_INIT_ZEROS, 8)};
static const struct cs_module_spec cast_module = MODULE("m", bf16_p, .backend = &cast);

static void start(struct bare *bare, const char *policy, const struct cs_module_spec *specs, size_t n, double value) {
    bare_open(bare, policy, specs, n);
    assert_ok(COLD->begin(&bare->rank));
    for (size_t m = 0; m < n; m++)
        for (size_t i = 0; i < specs[m].n_tensors; i++)
            if (!specs[m].tensors[i].tied) assert_ok(send_value(bare, COLD, m, specs[m].tensors[i].name, value));
    assert_ok(COLD->finish(&bare->rank));
}

static const struct cs_view *view_of(struct bare *bare, size_t module, const char *name) { return &bare_param(bare, module, name)->view; }

/* ---- raw, kernel format ---- */

static void raw_loads_write_into_what_post_load_left(void **state) {
    (void)state;
    struct bare bare;
    start(&bare, "none", &cast_module, 1, 3);
    struct cs_view before = *view_of(&bare, 0, "p");
    assert_ok(cs_driver_raw.begin(&bare.rank));
    assert_ok(send_value(&bare, &cs_driver_raw, 0, "p", 5)); /* bf16 into f32, by value */
    assert_ok(cs_driver_raw.finish(&bare.rank));
    assert_true(cs_view_same_place(&before, view_of(&bare, 0, "p")));
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 5, 5, 5, 5, 5, 5, 5, 5);
    assert_int_equal(view_of(&bare, 0, "p")->dtype, CS_F32);
    bare_close(&bare);
}

static void post_load_runs_after_each_bucket_or_once(void **state) {
    (void)state;
    static const struct cs_step steps[] = {CS_DO_UPDATE("p", "p + 1")};
    static const size_t n_steps = 1;
    static const struct cs_backend adds = {.method = "toy", .name = "adds", .steps = steps, .n_steps = &n_steps};
    const struct cs_tensor_spec tensors[] = {PARAM("p", CS_F32, CS_INIT_ZEROS, 2)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = &adds);
    struct bare bare;
    start(&bare, "none", &spec, 1, 3);
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 4, 4);
    const struct cs_driver *driver = &cs_driver_raw_post_load_per_bucket;
    assert_ok(driver->begin(&bare.rank));
    assert_ok(send_value(&bare, driver, 0, "p", 5));
    assert_ok(driver->bucket(&bare.rank));
    assert_ok(driver->bucket(&bare.rank)); /* a bucket of other modules' tensors */
    assert_ok(driver->finish(&bare.rank));
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 7, 7);
    driver = &cs_driver_raw_post_load;
    assert_ok(driver->begin(&bare.rank));
    assert_ok(send_value(&bare, driver, 0, "p", 5));
    assert_ok(driver->finish(&bare.rank));
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 6, 6);
    bare_close(&bare);
}

static void kernel_format_copies_by_name_and_converts(void **state) {
    (void)state;
    struct bare bare;
    start(&bare, "none", &cast_module, 1, 3);
    struct cs_view finished = source_of_value(&bare, CS_BF16, 1, (int64_t[]){8}, 9);
    assert_ok(cs_driver_kernel_format.take(&bare.rank.modules[0], "p", &finished));
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 9, 9, 9, 9, 9, 9, 9, 9);
    assert_int_equal(cs_driver_kernel_format.take(&bare.rank.modules[0], "q", &finished), CS_BAD_VALUE);
    assert_says(cs_error_text(), "m has no parameter \"q\"");
    bare_close(&bare);
}

/* ---- load plan ---- */

/* 5 of 8 elements, counted as 5: the plan can be baked, and leaves 3 in fresh memory. */
static void a_load_plan_fills_by_the_records_of_the_load_before(void **state) {
    (void)state;
    struct cs_tensor_spec tensors[] = {PARAM("p", CS_U8, CS_INIT_ZEROS, 8)};
    tensors[0].weight_loader_numel = 5, tensors[0].has_padding_value = true, tensors[0].padding_value = 4;
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    const struct cs_driver *plan = &cs_driver_load_plan;
    for (int replays = 0; replays < 2; replays++) {
        struct bare bare;
        bare_open(&bare, "record_and_fill", &spec, 1);
        assert_ok(COLD->begin(&bare.rank));
        assert_ok(send_prefix(&bare, COLD, 0, "p", 5, 3));
        assert_ok(COLD->finish(&bare.rank));
        ASSERT_NUMBERS(view_of(&bare, 0, "p"), 3, 3, 3, 3, 3, 4, 4, 4);
        double rest = replays ? 4 : 0xAA;
        for (int load = 0; load < 2; load++) {
            bare.rank.replays_records = replays;
            assert_ok(plan->begin(&bare.rank));
            assert_ok(send_prefix(&bare, plan, 0, "p", 5, 6));
            double old = number_of(&bare.rank.modules[0].layerwise->kernel[0].param->view, 0);
            assert_true(old == (load ? 6 : 3)); /* nothing moved yet */
            assert_ok(plan->finish(&bare.rank));
            ASSERT_NUMBERS(view_of(&bare, 0, "p"), 6, 6, 6, 6, 6, rest, rest, rest);
        }
        bare_close(&bare);
    }
}

static void a_plan_that_leaves_counted_elements_out_is_refused(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {PARAM("p", CS_U8, CS_INIT_ZEROS, 8), BUFFER("table", CS_BUFFER, 4)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    struct bare bare;
    bare_open(&bare, "none", &spec, 1);
    assert_ok(COLD->begin(&bare.rank));
    assert_ok(send_value(&bare, COLD, 0, "p", 3));
    assert_ok(COLD->finish(&bare.rank));
    assert_ok(cs_driver_load_plan.begin(&bare.rank));
    assert_ok(send_prefix(&bare, &cs_driver_load_plan, 0, "p", 5, 6));
    assert_int_equal(cs_driver_load_plan.finish(&bare.rank), CS_REFUSED);
    assert_says(cs_error_text(), "copy 5 of the 8 elements"); /* buffers do not count */
    bare_close(&bare);
}

/* ---- dummy start ---- */

static void a_dummy_start_fills_floating_parameters_with_numbers(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {PARAM("p", CS_BF16, CS_INIT_ONES, 64), PARAM("q", CS_U8, CS_INIT_ONES, 4)};
    const struct cs_module_spec specs[] = {MODULE("m", tensors, .backend = NULL), MODULE("n", tensors, .backend = NULL)};
    struct bare bare;
    bare_open(&bare, "record_and_fill", specs, 2);
    assert_ok(cs_driver_dummy_start.begin(&bare.rank));
    assert_ok(cs_driver_dummy_start.finish(&bare.rank));
    size_t n_ones = 0, n_same = 0;
    for (int64_t i = 0; i < 64; i++) {
        double m = number_of(view_of(&bare, 0, "p"), i), n = number_of(view_of(&bare, 1, "p"), i);
        assert_true(m >= -2 && m < 2); /* sane, not garbage */
        n_ones += m == 1;
        n_same += m == n;
    }
    assert_true(n_ones < 8 && n_same < 8);
    ASSERT_NUMBERS(view_of(&bare, 0, "q"), 1, 1, 1, 1);
    assert_int_equal(bare.stats.calls, 0);
    bare_close(&bare);
}

/* ---- tied parameters ---- */

static void tied_parameters_are_one_object_and_stay_it(void **state) {
    (void)state;
    const struct cs_tensor_spec embed[] = {PARAM("weight", CS_U8, CS_INIT_ZEROS, 4)};
    struct cs_tensor_spec head[] = {PARAM("weight", CS_U8, CS_INIT_ZEROS, 4)};
    head[0].tied = "embed.weight";
    const struct cs_module_spec specs[] = {MODULE("embed", embed, .backend = NULL), MODULE("head", head, .backend = NULL)};
    const struct cs_driver *const drivers[] = {&cs_driver_layerwise, &cs_driver_direct, &cs_driver_raw};
    struct bare bare;
    start(&bare, "none", specs, 2, 3);
    const struct cs_param *object = bare_param(&bare, 0, "weight");
    struct cs_view place = object->view;
    for (size_t d = 0; d < CS_COUNT(drivers); d++) {
        assert_ok(drivers[d]->begin(&bare.rank));
        assert_ok(send_value(&bare, drivers[d], 0, "weight", 5 + (double)d));
        assert_ok(drivers[d]->finish(&bare.rank));
        assert_ptr_equal(bare_param(&bare, 0, "weight"), object);
        assert_ptr_equal(bare_param(&bare, 1, "weight"), object);
        assert_true(cs_view_same_place(&place, &object->view));
        ASSERT_NUMBERS(&object->view, 5 + (double)d, 5 + (double)d, 5 + (double)d, 5 + (double)d);
    }
    bare_close(&bare);
}

/* ---- KV-cache scales ---- */

static double side_of(struct bare *bare, const char *path) {
    const struct cs_module *module = &bare->rank.modules[0];
    for (size_t i = 0; i < module->n_sides; i++)
        if (cs_text_equal(module->sides[i].path, path)) return number_of(&module->sides[i].param->view, 0);
    fail_msg("nothing holds %s", path);
    return 0;
}

static void assert_scales(struct bare *bare, double k, double v) {
    ASSERT_NUMBERS(view_of(bare, 0, "_k_scale"), k);
    ASSERT_NUMBERS(view_of(bare, 0, "_v_scale"), v);
    ASSERT_NUMBERS(view_of(bare, 0, "_q_scale"), 1);
    assert_true(side_of(bare, "_k_scale_float") == k && side_of(bare, "_v_scale_float") == v);
    assert_null(cs_module_slot(&bare->rank.modules[0], "k_scale")); /* post-load dropped it */
}

/* 0.5 and 0.25, then 2 and 4, then none: the third state keeps 2 and 4 (found: F8). k alone serves v too. */
static void kv_scales_of_the_checkpoint_before_stay(void **state) {
    (void)state;
    const struct cs_module_spec spec = {.name = "attn", .layer = 0, .n_tensors = cs_n_kv_tensors, .tensors = cs_kv_tensors, .is_attention = true};
    const struct cs_driver *layerwise = &cs_driver_layerwise, *direct = &cs_driver_direct;
    struct bare bare;
    bare_open(&bare, "none", &spec, 1);
    assert_ok(COLD->begin(&bare.rank));
    assert_ok(send_value(&bare, COLD, 0, "k_scale", 0.5));
    assert_ok(send_value(&bare, COLD, 0, "v_scale", 0.25));
    assert_ok(COLD->finish(&bare.rank));
    assert_scales(&bare, 0.5, 0.25);
    struct cs_view place = *view_of(&bare, 0, "_k_scale");
    assert_ok(layerwise->begin(&bare.rank));
    assert_ok(send_value(&bare, layerwise, 0, "k_scale", 2));
    assert_ok(send_value(&bare, layerwise, 0, "v_scale", 4));
    assert_true(bare.rank.modules[0].layerwise->is_loading); /* never before the end */
    assert_ok(layerwise->finish(&bare.rank));
    assert_scales(&bare, 2, 4);
    assert_ok(layerwise->begin(&bare.rank));
    assert_ok(layerwise->finish(&bare.rank));
    assert_scales(&bare, 2, 4);
    assert_ok(direct->begin(&bare.rank));
    assert_ok(send_value(&bare, direct, 0, "k_scale", 3));
    assert_ok(direct->finish(&bare.rank));
    assert_scales(&bare, 3, 3);
    assert_true(cs_view_same_place(&place, view_of(&bare, 0, "_k_scale")));
    bare_close(&bare);
}

/* ---- sessions: what travels ---- */

static struct cs_session session;

static const struct cs_template_tensor pair[] = {
    {.name = "p", .shape = "2", .kind = CS_PARAMETER, .dtype = CS_U8, .init = CS_INIT_ZEROS},
    {.name = "q", .shape = "2", .kind = CS_PARAMETER, .dtype = CS_U8, .init = CS_INIT_ZEROS},
    {.name = "kept", .shape = "2", .kind = CS_BUFFER, .dtype = CS_U8, .init = CS_INIT_ONES},
};
static const double ones[] = {1, 2}, twos[] = {3, 4}, threes[] = {5, 6}, fours[] = {7, 8};
static const struct cs_toy_call calls_a[] = {{.param = "p", .has_write = true, .write = {{0}, {2}}, .n_values = 2, .values = ones},
                                             {.param = "q", .has_write = true, .write = {{0}, {2}}, .n_values = 2, .values = twos}};
static const struct cs_toy_call calls_b[] = {{.param = "p", .has_write = true, .write = {{0}, {2}}, .n_values = 2, .values = threes},
                                             {.param = "q", .has_write = true, .write = {{0}, {2}}, .n_values = 2, .values = fours}};
static const struct cs_toy_load loads[] = {{"A", 2, calls_a}, {"B", 2, calls_b}};

static struct cs_view toy_view(const char *name) { return session_view(&session, 0, 0, name); }

/* The module waits for its buffer's two elements and so for the end: p is read after q overwrote it. */
static void a_shared_buffer_is_read_late(void **state) {
    (void)state;
    struct cs_scenario scenario = toy_scenario(pair, CS_COUNT(pair), loads, 2);
    struct cs_op op = {.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "B", .bucket_tensors = 1, .is_buffer_shared = true};
    session_open(&session, &scenario, "none");
    session_run(&session, "cold_start", "A");
    assert_ok(cs_session_run(&session, &op));
    struct cs_view p = toy_view("p"), q = toy_view("q");
    ASSERT_NUMBERS(&p, 7, 8);
    ASSERT_NUMBERS(&q, 7, 8);
    op.is_buffer_shared = false;
    op.pieces = 2;
    op.is_reversed = true;
    assert_ok(cs_session_run(&session, &op));
    p = toy_view("p"), q = toy_view("q");
    ASSERT_NUMBERS(&p, 5, 6);
    ASSERT_NUMBERS(&q, 7, 8);
    assert_int_equal(session.ranks[0].buffered_peak, 2 * 256); /* two buckets, each of one tensor's aligned bytes */
    assert_int_equal(session.ranks[0].buffered_bytes, 0);
    assert_int_equal(session.accounting.n_changed, 0);
    cs_session_close(&session);
}

static void sleep_keeps_bytes_or_buffers_alone(void **state) {
    (void)state;
    struct cs_scenario scenario = toy_scenario(pair, CS_COUNT(pair), loads, 2);
    struct cs_op nap = {.kind = CS_OP_SLEEP, .sleep_level = 1};
    const struct cs_op wake = {.kind = CS_OP_WAKE};
    session_open(&session, &scenario, "none");
    session_run(&session, "cold_start", "A");
    struct cs_view p = toy_view("p"), kept = toy_view("kept");
    assert_int_equal(cs_session_run(&session, &wake), CS_REFUSED);
    assert_ok(cs_session_run(&session, &nap));
    assert_int_equal(session_load(&session, "direct", "B"), CS_REFUSED);
    assert_says(cs_error_text(), "asleep");
    assert_ok(cs_session_run(&session, &wake));
    ASSERT_NUMBERS(&p, 1, 2);
    nap.sleep_level = 2;
    assert_ok(cs_session_run(&session, &nap));
    assert_ok(cs_session_run(&session, &wake));
    struct cs_view after = toy_view("p");
    assert_true(cs_view_same_place(&p, &after));
    ASSERT_NUMBERS(&p, RELOAD_GARBAGE, RELOAD_GARBAGE);
    ASSERT_NUMBERS(&kept, 1, 1);
    session_run(&session, "direct", "B");
    ASSERT_NUMBERS(&p, 5, 6);
    cs_session_close(&session);
}

/* ---- what arrives ---- */

static char order[512];

/* "gate_up_proj_blocks gate_up_proj_scales …", without what stands before the last dot. */
static const char *order_of(const struct cs_op *op) {
    struct cs_arena scratch = {0};
    struct cs_arrivals arrivals;
    order[0] = 0;
    assert_ok(cs_session_arrivals(&session, op, &scratch, &arrivals));
    for (size_t i = 0; i < arrivals.n; i++) {
        const char *dot = strrchr(arrivals.items[i].name, '.');
        if (i) strcat(order, " ");
        strcat(order, dot ? dot + 1 : arrivals.items[i].name);
    }
    cs_arena_release(&scratch);
    return order;
}

static void an_operation_says_what_arrives(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    const char *const biases[] = {"*_bias"}, *const down[] = {"*.down_*"}, *const strangers[] = {"x.stranger", "x.other"};
    session_open(&session, &scenario, "none");
    struct cs_op op = {.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "A", .has_only = true, .n_only = 1, .only = biases};
    assert_string_equal(order_of(&op), "gate_up_proj_bias down_proj_bias");
    op.is_reversed = true;
    op.n_duplicated = 1, op.duplicated = down;
    assert_string_equal(order_of(&op), "down_proj_bias down_proj_bias gate_up_proj_bias");
    assert_int_equal(session.accounting.missing, 4);
    assert_int_equal(session.accounting.duplicate, 1);
    op.n_unknown = 2, op.unknown = strangers, op.unknown_at = 1;
    assert_string_equal(order_of(&op), "down_proj_bias stranger other down_proj_bias gate_up_proj_bias");
    assert_int_equal(session.accounting.excess, 2);
    op.unknown_at = 100;
    op.is_stopped = true, op.stop_after = 4;
    assert_string_equal(order_of(&op), "down_proj_bias down_proj_bias gate_up_proj_bias stranger");
    op.stop_after = 0;
    assert_string_equal(order_of(&op), "");
    const struct cs_op empty = {.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "A", .has_only = true};
    assert_string_equal(order_of(&empty), "");
    assert_int_equal(session.accounting.missing, 6);
    cs_session_close(&session);
}

/* Wherever a direct load stops, the next one ends it. */
static void a_direct_load_may_stop_anywhere(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    struct cs_session fresh;
    session_open(&fresh, &scenario, "record_and_fill");
    session_run(&fresh, "cold_start", "B");
    for (int64_t at = 0; at <= 6; at++) {
        const struct cs_op stopped = {.kind = CS_OP_RELOAD, .driver = "direct", .checkpoint = "C", .is_stopped = true, .stop_after = at};
        session_open(&session, &scenario, "record_and_fill");
        session_run(&session, "cold_start", "A");
        assert_ok(cs_session_run(&session, &stopped));
        session_run(&session, "direct", "B");
        for (size_t i = 0; i < 6; i++) {
            struct cs_view a = fresh.ranks[0].modules[0].slots[i].param->view, b = session.ranks[0].modules[0].slots[i].param->view;
            assert_true(cs_view_same_layout(&a, &b));
            assert_memory_equal(bytes_of(&a), bytes_of(&b), cs_view_span_bytes(&a));
        }
        cs_session_close(&session);
    }
    cs_session_close(&fresh);
}

/* ---- graphs of the reference device ---- */

static void a_graph_reads_addresses_whatever_lies_there(void **state) {
    (void)state;
    const struct cs_device *ref = cs_device_by_name("ref");
    struct bare bare;
    uint64_t digests[2], expected;
    void *graph;
    start(&bare, "none", &cast_module, 1, 3);
    struct cs_param *param = bare_param(&bare, 0, "p");
    struct cs_view views[] = {param->view, param->view};
    assert_ok(cs_view_narrow(&views[1], 0, 4, 4));
    assert_ok(ref->capture(ref, views, 2, &graph));
    views[0].storage->is_captured = true;
    assert_ok(ref->replay(ref, graph, digests));
    assert_ok(cs_device_digest(ref, &views[0], &expected));
    assert_int_equal(digests[0], expected);
    uint64_t first = digests[0], half = digests[1];
    assert_ok(cs_device_fill(ref, &(struct cs_fill){.view = {.storage = views[0].storage, .dtype = CS_F32, .ndim = 1, .shape = {2}, .stride = {1}}}, 1));
    assert_ok(ref->replay(ref, graph, digests));
    assert_int_not_equal(digests[0], first);
    assert_int_equal(digests[1], half); /* elements 4 to 7 are as they were */
    /* The parameter moves: its old storage is freed, stays mapped, and holds garbage. */
    assert_ok(cs_rank_allocate(&bare.rank, &param->view, "elsewhere", &param->view));
    size_t alive = bare.rank.allocator.bytes_alive;
    cs_rank_sweep(&bare.rank);
    assert_int_equal(bare.rank.allocator.bytes_alive, alive - 32);
    assert_ok(ref->replay(ref, graph, digests));
    assert_int_not_equal(digests[1], half);
    ref->forget(ref, graph);
    bare_close(&bare);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_loads_write_into_what_post_load_left),
        cmocka_unit_test(post_load_runs_after_each_bucket_or_once),
        cmocka_unit_test(kernel_format_copies_by_name_and_converts),
        cmocka_unit_test(a_load_plan_fills_by_the_records_of_the_load_before),
        cmocka_unit_test(a_plan_that_leaves_counted_elements_out_is_refused),
        cmocka_unit_test(a_dummy_start_fills_floating_parameters_with_numbers),
        cmocka_unit_test(tied_parameters_are_one_object_and_stay_it),
        cmocka_unit_test(kv_scales_of_the_checkpoint_before_stay),
        cmocka_unit_test(a_shared_buffer_is_read_late),
        cmocka_unit_test(sleep_keeps_bytes_or_buffers_alone),
        cmocka_unit_test(an_operation_says_what_arrives),
        cmocka_unit_test(a_direct_load_may_stop_anywhere),
        cmocka_unit_test(a_graph_reads_addresses_whatever_lies_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
