/* Sessions: what arrives, in which order, and what is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/session/internal.h"
#include "tests/support_files.h"
#include "tests/support_session.h"

static struct cs_session session;

/* gpt-oss without padding: 2 experts, H = I = 64, emulation. */
static struct cs_scenario unpadded(void) {
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.backend = "emulation";
    scenario.model.hidden = scenario.model.intermediate = 64;
    return scenario;
}

static void assert_accounting(int64_t missing, int64_t duplicate, int64_t excess, int64_t not_simulated) {
    assert_int_equal(session.accounting.missing, missing);
    assert_int_equal(session.accounting.duplicate, duplicate);
    assert_int_equal(session.accounting.excess, excess);
    assert_int_equal(session.accounting.not_simulated, not_simulated);
}

/* ---- accounting (R4) ---- */

static void a_whole_load_misses_nothing(void **state) {
    (void)state;
    struct cs_scenario scenario = unpadded();
    session_open(&session, &scenario, "none");
    session_run(&session, "cold_start", "A");
    assert_accounting(0, 0, 0, 0);
    cs_session_close(&session);
}

static const char *const biases[] = {"*_bias"};

static void what_a_reload_omits_is_missing_and_keeps_no_value(void **state) {
    (void)state;
    struct cs_scenario scenario = unpadded();
    session_open(&session, &scenario, "none");
    session_run(&session, "cold_start", "A");
    const struct cs_op op = {.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "B", .n_omitted = 1, .omitted = biases};
    assert_ok(cs_session_run(&session, &op));
    assert_accounting(2, 0, 0, 0);
    assert_string_equal(session.accounting.first_missing, "model.layers.0.mlp.experts.gate_up_proj_bias");
    struct cs_view bias = session_view(&session, 0, 0, "w2_bias");
    assert_int_equal(bytes_of(&bias)[0], RELOAD_GARBAGE);
    cs_session_close(&session);
}

static void a_cold_start_needs_every_tensor(void **state) {
    (void)state;
    struct cs_scenario scenario = unpadded();
    session_open(&session, &scenario, "none");
    const struct cs_op op = {.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = "A", .n_omitted = 1, .omitted = biases};
    assert_int_equal(cs_session_run(&session, &op), CS_BAD_FILE);
    assert_says(cs_error_text(), "checkpoint A: 2 of 6 tensors are missing, the first is \"model.layers.0.mlp.experts.gate_up_proj_bias\"");
    cs_session_close(&session);
}

/* ---- files ---- */

static const struct cs_template_tensor norm_tensors[] = {{.name = "weight", .shape = "4", .kind = CS_PARAMETER, .dtype = CS_U8, .init = CS_INIT_ONES}};
static const struct cs_module_template norm = {.name = "norm", .n_tensors = 1, .tensors = norm_tensors};
static const char *const head[] = {"lm_head.*"};

static struct cs_scenario norm_from(const struct cs_checkpoint_config *config) {
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.method = scenario.backend = NULL;
    scenario.model = (struct cs_model_config){.name = "norm", .experts = 1, .hidden = 4, .intermediate = 4, .prefix = "model.", .n_templates = 1, .templates = &norm};
    scenario.n_checkpoints = 1, scenario.checkpoints = config;
    return scenario;
}

static void a_cold_start_knows_every_tensor_but_the_not_simulated(void **state) {
    struct cs_checkpoint_config config = {.name = "A", .kind = CS_CHECKPOINT_FOLDER, .path = path_in(*state, "model.safetensors")};
    write_safetensors(config.path, "{\"model.norm.weight\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                                   "\"lm_head.weight\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[4,6]}}", 6);
    struct cs_scenario scenario = norm_from(&config);
    session_open(&session, &scenario, "none");
    assert_int_equal(session_load(&session, "cold_start", "A"), CS_BAD_FILE);
    assert_says(cs_error_text(), "1 tensors are unknown to the model, the first is \"lm_head.weight\"");
    assert_accounting(0, 0, 1, 0);
    cs_session_close(&session);
    scenario.model.n_not_simulated = 1, scenario.model.not_simulated = head;
    session_open(&session, &scenario, "none");
    session_run(&session, "cold_start", "A");
    assert_accounting(0, 0, 0, 1);
    struct cs_view weight = session_view(&session, 0, 0, "weight");
    ASSERT_NUMBERS(&weight, 0, 1, 2, 3);
    cs_session_close(&session);
}

/* AutoWeightsLoader raises when the name arrives, in the middle; what came before stays. */
static void a_reload_trips_over_what_nobody_knows(void **state) {
    struct cs_checkpoint_config config = {.name = "A", .kind = CS_CHECKPOINT_FOLDER, .path = path_in(*state, "model.safetensors")};
    write_safetensors(config.path, "{\"model.norm.weight\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                                   "\"model.extra\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[4,6]}}", 6);
    struct cs_scenario scenario = norm_from(&config);
    session_open(&session, &scenario, "none");
    const char *const extra[] = {"*.extra"};
    scenario.model.n_not_simulated = 1, scenario.model.not_simulated = extra;
    session_run(&session, "cold_start", "A");
    scenario.model.n_not_simulated = 0;
    assert_int_equal(session_load(&session, "layerwise", "A"), CS_BAD_VALUE);
    assert_says(cs_error_text(), "no module or parameter named \"model.extra\"");
    assert_accounting(0, 0, 1, 0);
    assert_string_equal(session.accounting.first_excess, "model.extra");
    cs_session_close(&session);
}

/* models/gpt_oss.py looks every parameter up once and ignores other names. */
static void gpt_oss_ignores_and_counts_what_nobody_knows(void **state) {
    (void)state;
    struct cs_scenario scenario = unpadded();
    session_open(&session, &scenario, "none");
    session_run(&session, "cold_start", "A");
    const char *const names[] = {"model.nobody", "model.nothing"};
    const struct cs_op op = {.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "B", .n_unknown = 2, .unknown = names, .unknown_at = 3};
    assert_ok(cs_session_run(&session, &op));
    assert_accounting(0, 0, 2, 0);
    assert_string_equal(session.accounting.first_excess, "model.nobody");
    cs_session_close(&session);
}

static void a_tensor_of_another_size_is_named_with_both_sizes(void **state) {
    struct cs_checkpoint_config config = {.name = "A", .kind = CS_CHECKPOINT_FOLDER, .path = path_in(*state, "model.safetensors")};
    write_safetensors(config.path, "{\"model.norm.weight\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":[0,4]}}", 4);
    struct cs_scenario scenario = norm_from(&config);
    session_open(&session, &scenario, "none");
    assert_int_equal(session_load(&session, "cold_start", "A"), CS_BAD_FILE);
    assert_says(cs_error_text(), "tensor \"model.norm.weight\" is u8[2, 2], the model expects u8[4]");
    cs_session_close(&session);
}

/* ---- order ---- */

static struct cs_arena scratch;

static struct cs_arrivals arrivals_of(const struct cs_op *op, enum cs_status expected) {
    struct cs_arrivals arrivals = {0};
    enum cs_status status = cs_session_arrivals(&session, op, &scratch, &arrivals);
    if (status != expected) fail_msg("%s: %s", cs_status_name(status), cs_error_text());
    return arrivals;
}

static bool same_order(const struct cs_arrivals *a, const struct cs_arrivals *b) {
    for (size_t i = 0; i < a->n; i++)
        if (!cs_text_equal(a->items[i].route->tensor, b->items[i].route->tensor)) return false;
    return a->n == b->n;
}

static void shuffled_order_is_a_function_of_seed_and_load(void **state) {
    (void)state;
    struct cs_scenario scenario = unpadded();
    const struct cs_op file = {.kind = CS_OP_RELOAD, .checkpoint = "A", .loader = "gpt_oss_streamed"};
    struct cs_op shuffled = file;
    struct cs_arrivals order[4];
    shuffled.is_shuffled = true;
    for (int i = 0; i < 4; i++) { /* seed 1, seed 1 again, seed 2, seed 1's next load */
        scenario.seed = i == 2 ? 2 : 1;
        session_open(&session, &scenario, "none");
        session.log.load = i == 3;
        struct cs_arrivals all = arrivals_of(&file, CS_OK);
        order[i] = arrivals_of(&shuffled, CS_OK);
        assert_int_equal(order[i].n, 12);
        assert_false(same_order(&order[i], &all));
        assert_accounting(0, 0, 0, 0); /* each once */
        for (size_t k = 0; k < 12; k++) /* names outlive the session here */
            order[i].items[k].route = memcpy(cs_arena_alloc(&scratch, 1, sizeof(struct cs_route)), order[i].items[k].route, sizeof(struct cs_route));
        for (size_t k = 0; k < 12; k++) ((struct cs_route *)(uintptr_t)order[i].items[k].route)->tensor = cs_arena_text(&scratch, order[i].items[k].route->tensor);
        cs_session_close(&session);
    }
    assert_true(same_order(&order[0], &order[1]));
    assert_false(same_order(&order[0], &order[2]));
    assert_false(same_order(&order[0], &order[3]));
    cs_arena_release(&scratch);
}

static void an_explicit_order_is_followed(void **state) {
    (void)state;
    struct cs_scenario scenario = unpadded();
    const size_t reversed[] = {5, 4, 3, 2, 1, 0}, twice[] = {0, 1, 2, 3, 4, 0}, outside[] = {0, 1, 2, 3, 4, 6};
    struct cs_op op = {.kind = CS_OP_RELOAD, .checkpoint = "A", .n_order = 6, .order = reversed};
    session_open(&session, &scenario, "none");
    struct cs_arrivals arrivals = arrivals_of(&op, CS_OK);
    assert_string_equal(arrivals.items[0].route->tensor, "model.layers.0.mlp.experts.down_proj_bias");
    assert_string_equal(arrivals.items[5].route->tensor, "model.layers.0.mlp.experts.gate_up_proj_blocks");
    op.order = twice; /* the first tensor twice, the last one never */
    arrivals_of(&op, CS_OK);
    assert_accounting(1, 1, 0, 0);
    assert_string_equal(session.accounting.first_missing, "model.layers.0.mlp.experts.down_proj_bias");
    op.kind = CS_OP_COLD_START;
    arrivals_of(&op, CS_BAD_FILE);
    op.order = outside;
    arrivals_of(&op, CS_BAD_INDEX);
    op.n_order = 5;
    arrivals_of(&op, CS_BAD_SHAPE);
    cs_session_close(&session);
    cs_arena_release(&scratch);
}

/* ---- checkpoints ---- */

/* R8.2: without padding and relayouts, every element of every parameter differs between A, B and C. */
static void perturbed_copies_differ_in_every_element(void **state) {
    (void)state;
    struct cs_scenario scenario = unpadded();
    static const char *const names[] = {"A", "B", "C"};
    static const char *const params[] = {"w13_weight", "w13_weight_scale", "w2_weight", "w2_weight_scale", "w13_bias", "w2_bias"};
    struct cs_session sessions[3];
    for (size_t i = 0; i < 3; i++) {
        session_open(&sessions[i], &scenario, "none");
        session_run(&sessions[i], "cold_start", names[i]);
    }
    for (size_t p = 0; p < CS_COUNT(params); p++) {
        struct cs_view view[3];
        for (size_t i = 0; i < 3; i++) view[i] = session_view(&sessions[i], 0, 0, params[p]);
        for (int64_t e = 0; e < cs_view_numel(&view[0]); e++) {
            double a = number_of(&view[0], e), b = number_of(&view[1], e), c = number_of(&view[2], e);
            assert_true(a != b && a != c && b != c);
        }
    }
    for (size_t i = 0; i < 3; i++) cs_session_close(&sessions[i]);
}

/* A trainer streams the same bytes one expert at a time: nothing differs but the number of tensors. */
static void a_combined_checkpoint_may_be_streamed_in_slices(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.tp = 2;
    struct cs_session whole;
    session_open(&whole, &scenario, "record_and_fill");
    session_run(&whole, "cold_start", "B");
    session_open(&session, &scenario, "record_and_fill");
    session_run(&session, "cold_start", "A");
    const struct cs_op op = {.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "B", .loader = "gpt_oss_streamed"};
    assert_ok(cs_session_run(&session, &op));
    assert_accounting(0, 0, 0, 0);
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < 6; i++) {
            struct cs_view a = whole.ranks[r].modules[0].slots[i].param->view, b = session.ranks[r].modules[0].slots[i].param->view;
            assert_memory_equal(bytes_of(&a), bytes_of(&b), cs_view_span_bytes(&a));
        }
    cs_session_close(&session);
    cs_session_close(&whole);
}

/* The same bytes in one tensor for all experts. */
static void a_streamed_checkpoint_may_be_sent_combined(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.loader = "gpt_oss_streamed", scenario.tp = 2;
    struct cs_session whole;
    session_open(&whole, &scenario, "record_and_fill");
    session_run(&whole, "cold_start", "B");
    session_open(&session, &scenario, "record_and_fill");
    session_run(&session, "cold_start", "A");
    const struct cs_op op = {.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "B", .loader = "gpt_oss_combined"};
    assert_ok(cs_session_run(&session, &op));
    assert_accounting(0, 0, 0, 0);
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < 6; i++) {
            struct cs_view a = whole.ranks[r].modules[0].slots[i].param->view, b = session.ranks[r].modules[0].slots[i].param->view;
            assert_memory_equal(bytes_of(&a), bytes_of(&b), cs_view_span_bytes(&a));
        }
    cs_session_close(&session);
    cs_session_close(&whole);
}

/* Slices of a folder's combined tensors: what no loader knows is counted all the same. */
static void streaming_in_slices_counts_unknown_tensors_too(void **state) {
    struct cs_scenario scenario = unpadded();
    session_open(&session, &scenario, "none");
    struct cs_checkpoint *made = &session.checkpoints[0];
    const struct cs_content zero = {.kind = CS_CONTENT_ZERO, .as = CS_U8};
    assert_ok(cs_checkpoint_add(made, "model.nobody", CS_U8, 1, (int64_t[]){4}, &zero));
    const struct cs_op op = {.kind = CS_OP_RELOAD, .checkpoint = "A", .loader = "gpt_oss_streamed"};
    arrivals_of(&op, CS_OK);
    assert_accounting(0, 0, 1, 0);
    cs_session_close(&session);
    cs_arena_release(&scratch);
    (void)state;
}

/* ---- ranks, failures ---- */

static void experts_are_placed_linearly(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.model.experts = 5, scenario.ep = 3;
    session_open(&session, &scenario, "none");
    const int64_t first[] = {0, 2, 4}, n[] = {2, 2, 1}; /* the first ranks get the rest */
    for (size_t r = 0; r < 3; r++) {
        assert_int_equal(session.model.ranks[r].first_expert, first[r]);
        assert_int_equal(session.model.ranks[r].sizes.experts, n[r]);
        assert_int_equal(session.model.ranks[r].tp_rank, 0);
    }
    session_run(&session, "cold_start", "A");
    cs_session_close(&session);
}

/* Released streamed split with I_full 96 on two ranks: rank 1 raises in the middle. There is no rollback: a direct
 * reload has hosted what graphs read, a layerwise one keeps its
 * buffered calls, and trips over the same one again. */
static void after_a_failed_reload_only_a_direct_server_is_unusable(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.tp = 2, scenario.defects = CS_DEFECT_BIT(CS_DEFECT_STREAMED_PADDED_SPLIT);
    const char *const drivers[] = {"direct", "layerwise"};
    for (size_t i = 0; i < 2; i++) {
        session_open(&session, &scenario, "none");
        session_run(&session, "cold_start", "A"); /* combined: not affected */
        const struct cs_op op = {.kind = CS_OP_RELOAD, .driver = drivers[i], .checkpoint = "B", .loader = "gpt_oss_streamed"};
        assert_int_equal(cs_session_run(&session, &op), CS_BAD_INDEX);
        assert_int_equal(session.is_unusable, i == 0);
        assert_int_equal(session_load(&session, drivers[i], "B"), i == 0 ? CS_REFUSED : CS_BAD_INDEX);
        if (i == 0) assert_says(cs_error_text(), "restart the server");
        cs_session_close(&session);
    }
}

static void one_module_of_one_rank_may_be_built_alone(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.tp = 2, scenario.model.layers = 2;
    struct cs_session_config config = {.scenario = &scenario, .device = cs_device_by_name("ref"), .policy = "none", .allocator = scenario.allocator,
                                       .only_module = "model.layers.1.experts", .only_rank = 1};
    assert_ok(cs_session_open(&session, &config));
    session_run(&session, "cold_start", "A");
    assert_int_equal(session.model.n_modules, 1);
    assert_int_equal(session.ranks[0].modules[0].n_slots, 0);
    assert_int_equal(session.ranks[1].modules[0].n_slots, 6);
    assert_int_equal(session.model.ranks[1].modules[0].layer, 1);
    cs_session_close(&session);
}

/* ---- ranks that meet in post-load ---- */

/* Online FP8 with one scale per tensor, tp 2; DeepEP rounds H 224 up to 256. */
static struct cs_scenario online_scenario(void) {
    static const struct cs_module_template experts = {.name = "layers.{layer}.mlp.experts", .is_routed_experts = true};
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.method = "online_fp8_tensor", scenario.backend = "triton", scenario.tp = 2;
    scenario.model.hidden = 224, scenario.model.intermediate = 128;
    scenario.model.n_templates = 1, scenario.model.templates = &experts;
    scenario.layer.all2all = CS_ALL2ALL_DEEPEP_HT;
    return scenario;
}

/* Rank 0 finds zeros in fresh memory, rank 1 bytes 0x43: 195 as bf16, which no number of the checkpoint reaches. */
static void padding_of_one_rank_decides_the_scale_of_all(void **state) {
    (void)state;
    struct cs_scenario scenario = online_scenario();
    const char *const fresh[] = {"zero", "0x43"};
    session_open(&session, &scenario, "none");
    assert_true(session.ranks_meet);
    for (size_t r = 0; r < 2; r++) assert_ok(cs_pattern_parse(fresh[r], &session.ranks[r].allocator.rule.fresh_cold));
    session_run(&session, "cold_start", "A");
    const char *const scales[] = {"w13_weight_scale", "w2_weight_scale"};
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < 2; i++) {
            struct cs_view scale = session_view(&session, r, 0, scales[i]);
            assert_true(number_of(&scale, 0) == (double)(195.0f / 448.0f));
            assert_true(number_of(&scale, 1) == (double)(195.0f / 448.0f));
        }
    cs_session_close(&session);
    session_open(&session, &scenario, "record_and_fill");
    for (size_t r = 0; r < 2; r++) assert_ok(cs_pattern_parse(fresh[r], &session.ranks[r].allocator.rule.fresh_cold));
    session_run(&session, "cold_start", "A");
    struct cs_view scale = session_view(&session, 0, 0, "w13_weight_scale");
    assert_true(number_of(&scale, 0) < 8.0 / 448.0);
    cs_session_close(&session);
}

/* As NCCL: a NaN on one rank loses against the other's number; where all have one it stays. */
static void a_nan_loses_against_another_rank(void **state) {
    (void)state;
    struct cs_scenario scenario = online_scenario();
    const char *const fresh[2][2] = {{"nan", "0x43"}, {"nan", "nan"}};
    for (size_t i = 0; i < 2; i++) {
        session_open(&session, &scenario, "none");
        for (size_t r = 0; r < 2; r++) assert_ok(cs_pattern_parse(fresh[i][r], &session.ranks[r].allocator.rule.fresh_cold));
        session_run(&session, "cold_start", "A");
        for (size_t r = 0; r < 2; r++) {
            struct cs_view scale = session_view(&session, r, 0, "w2_weight_scale");
            double number = number_of(&scale, 0);
            assert_true(i == 0 ? number == (double)(195.0f / 448.0f) : number != number);
        }
        cs_session_close(&session);
    }
}

/* A session about one rank runs the others too: its scales are theirs. */
static void one_rank_alone_has_the_scales_of_all(void **state) {
    (void)state;
    struct cs_scenario scenario = online_scenario();
    struct cs_session_config config = {.scenario = &scenario, .device = cs_device_by_name("ref"), .policy = "record_and_fill", .allocator = scenario.allocator,
                                       .only_module = "model.layers.0.mlp.experts", .only_rank = 0};
    unsigned char bytes[2][2 * 128 * 256];
    for (int i = 0; i < 2; i++) {
        config.only_rank = i - 1; /* all of them, then rank 0 */
        assert_ok(cs_session_open(&session, &config));
        session_run(&session, "cold_start", "A");
        struct cs_view weight = session_view(&session, 0, 0, "w13_weight");
        memcpy(bytes[i], bytes_of(&weight), sizeof bytes[i]);
        assert_int_equal(cs_session_asks(&session, 1), i == 0);
        cs_session_close(&session);
    }
    assert_memory_equal(bytes[0], bytes[1], sizeof bytes[0]);
}

static enum cs_status no_memory(void *context, size_t bytes, void **data) {
    (void)context, (void)data;
    return cs_fail(CS_NO_MEMORY, "rank 1 has no %zu bytes", bytes);
}

/* Rank 1 trips while rank 0 waits for it, as it would for ever: not even a layerwise reload goes on from there. */
static void a_rank_that_fails_leaves_no_server(void **state) {
    (void)state;
    struct cs_scenario scenario = online_scenario();
    session_open(&session, &scenario, "none");
    session_run(&session, "cold_start", "A");
    session.ranks[1].allocator.memory.allocate = no_memory;
    assert_int_equal(session_load(&session, "layerwise", "B"), CS_NO_MEMORY);
    assert_says(cs_error_text(), "rank 1 has no ");
    assert_true(session.is_unusable);
    assert_int_equal(session_load(&session, "layerwise", "B"), CS_REFUSED);
    assert_says(cs_error_text(), "restart the server");
    cs_session_close(&session);
}

/* ---- toys ---- */

static const struct cs_template_tensor toy_p[] = {{.name = "p", .shape = "8", .kind = CS_PARAMETER, .dtype = CS_F32, .init = CS_INIT_ZEROS}};
static const double one[] = {1}, rising[] = {1, 2, 3, 4, 5, 6};
static const struct cs_toy_box tail4[] = {{{4}, {4}}}, tail2[] = {{{6}, {2}}};
static const struct cs_toy_call first_call[] = {{.param = "p", .has_write = true, .write = {{0}, {4}}, .n_values = 1, .values = one, .n_marks = 1, .marks = tail4}};
static const struct cs_toy_call second_call[] = {{.param = "p", .has_write = true, .write = {{0}, {6}}, .n_values = 6, .values = rising, .n_marks = 1, .marks = tail2}};
static const struct cs_toy_load toy_loads[] = {{"A", 1, first_call}, {"B", 1, second_call}};

static void toys_write_what_their_loads_say(void **state) {
    (void)state;
    struct cs_scenario scenario = toy_scenario(toy_p, 1, toy_loads, 2);
    session_open(&session, &scenario, "record_and_fill");
    session_run(&session, "cold_start", "A");
    struct cs_view p = session_view(&session, 0, 0, "p");
    ASSERT_NUMBERS(&p, 1, 1, 1, 1, 0, 0, 0, 0);
    session_run(&session, "layerwise", "B");
    p = session_view(&session, 0, 0, "p");
    ASSERT_NUMBERS(&p, 1, 2, 3, 4, 5, 6, 0, 0);
    assert_int_equal(session.fill.regions, 1);
    assert_int_equal(session.fill.bytes, 8);
    cs_session_close(&session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_load_misses_nothing),
        cmocka_unit_test(what_a_reload_omits_is_missing_and_keeps_no_value),
        cmocka_unit_test(a_cold_start_needs_every_tensor),
        cmocka_unit_test_setup_teardown(a_cold_start_knows_every_tensor_but_the_not_simulated, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(a_reload_trips_over_what_nobody_knows, make_test_folder, remove_test_folder),
        cmocka_unit_test(gpt_oss_ignores_and_counts_what_nobody_knows),
        cmocka_unit_test_setup_teardown(a_tensor_of_another_size_is_named_with_both_sizes, make_test_folder, remove_test_folder),
        cmocka_unit_test(shuffled_order_is_a_function_of_seed_and_load),
        cmocka_unit_test(an_explicit_order_is_followed),
        cmocka_unit_test(perturbed_copies_differ_in_every_element),
        cmocka_unit_test(a_combined_checkpoint_may_be_streamed_in_slices),
        cmocka_unit_test(a_streamed_checkpoint_may_be_sent_combined),
        cmocka_unit_test(streaming_in_slices_counts_unknown_tensors_too),
        cmocka_unit_test(experts_are_placed_linearly),
        cmocka_unit_test(after_a_failed_reload_only_a_direct_server_is_unusable),
        cmocka_unit_test(one_module_of_one_rank_may_be_built_alone),
        cmocka_unit_test(padding_of_one_rank_decides_the_scale_of_all),
        cmocka_unit_test(a_nan_loses_against_another_rank),
        cmocka_unit_test(one_rank_alone_has_the_scales_of_all),
        cmocka_unit_test(a_rank_that_fails_leaves_no_server),
        cmocka_unit_test(toys_write_what_their_loads_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
