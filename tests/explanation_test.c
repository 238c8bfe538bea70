/* The first difference of a failing verdict, in coordinates worked out by hand, and the sentences that explain it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim/audit/audit.h"
#include "tests/support_session.h"

/* ---- gpt-oss, 2 experts, H 96 → 256, I 96 → 128: a cold start of A, a reload of B ---- */

static struct cs_arena arena;
static struct cs_verdict verdict;
static struct cs_op plan[4];

static int forget(void **state) {
    (void)state;
    cs_arena_release(&arena);
    return 0;
}

static void audit(struct cs_scenario *scenario, const char *driver, const char *policy) {
    plan[0] = (struct cs_op){.kind = CS_OP_COLD_START, .line = 2, .driver = "cold_start", .checkpoint = "A"};
    plan[1].kind = CS_OP_RELOAD, plan[1].driver = driver, plan[1].checkpoint = "B";
    plan[2] = (struct cs_op){.kind = CS_OP_EXPECT, .line = 4};
    scenario->n_ops = 3, scenario->ops = plan;
    const struct cs_audit_options options = {.device = cs_device_by_name("ref"), .policy = policy, .seed = 1};
    assert_ok(cs_audit_scenario(scenario, &options, &arena, &verdict));
    plan[1] = (struct cs_op){0};
}

static void audit_omitting(const char *pattern, const char *policy) {
    struct cs_scenario scenario = gpt_oss_scenario();
    static const char *patterns[1];
    patterns[0] = pattern;
    plan[1].n_omitted = 1, plan[1].omitted = patterns;
    audit(&scenario, "layerwise", policy);
}

/* Bits of element `index` of a tensor of checkpoint 0 (A) or 1 (B). */
static uint64_t checkpoint_bits(size_t checkpoint, const char *tensor, enum cs_dtype dtype, uint64_t index) {
    struct cs_scenario scenario = gpt_oss_scenario();
    struct cs_session session;
    session_open(&session, &scenario, "none");
    const struct cs_checkpoint_entry *entry = cs_checkpoint_find(&session.checkpoints[checkpoint], tensor);
    assert_non_null(entry);
    uint64_t bits = cs_content_element(&entry->content, dtype, index);
    cs_session_close(&session);
    return bits;
}

static void assert_first(const char *param, int64_t expert, int64_t row, int64_t column, enum cs_byte_class byte_class) {
    assert_true(verdict.first.exists);
    assert_says(verdict.first.tensor, "model.layers.0.experts.");
    assert_string_equal(verdict.first.tensor + strlen("model.layers.0.experts."), param);
    assert_int_equal(verdict.first.rank, 0);
    assert_int_equal(verdict.first.layer, 0);
    assert_int_equal(verdict.first.expert, expert);
    assert_int_equal(verdict.first.row, row);
    assert_int_equal(verdict.first.column, column);
    assert_string_equal(cs_byte_class_name(verdict.first.byte_class), cs_byte_class_name(byte_class));
}

static void assert_bits(uint64_t expected, uint64_t actual) {
    assert_int_equal(verdict.first.expected, expected);
    assert_int_equal(verdict.first.actual, actual);
}

/* Some line of the explanation contains `part`. */
static void assert_why(const char *part) {
    for (size_t i = 0; i < verdict.n_why; i++)
        if (strstr(verdict.why[i], part)) return;
    for (size_t i = 0; i < verdict.n_why; i++) print_message("  %s\n", verdict.why[i]);
    fail_msg("nothing says \"%s\"", part);
}

static void assert_not_why(const char *part) {
    for (size_t i = 0; i < verdict.n_why; i++)
        if (strstr(verdict.why[i], part)) fail_msg("\"%s\" should not be said: %s", part, verdict.why[i]);
}

/* ---- where ---- */

/* w13_weight is [2, 256, 128]; 192 rows of 48 bytes are loaded. Kernel row 0 is row 1: its first padding byte is column 48. */
static void layerwise_garbage_begins_behind_the_first_row(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    audit(&scenario, "layerwise", "none");
    assert_first("w13_weight", 0, 0, 48, CS_BYTE_PADDING);
    assert_bits(0, RELOAD_GARBAGE);
    assert_int_equal(verdict.first.n_total, 2 * 256 * 128);
    assert_int_equal(verdict.first.n_elements, 2 * (256 * 128 - 192 * 48));
    assert_int_equal(verdict.first.dtype, CS_U8);
}

/* Weights are right: padding stays where it was. w13_weight_scale is [2, 256, 8], swizzled in tiles of 128 × 4. Of the first tile
 * (bytes 0 … 511: columns 0 … 3 of 128 loaded rows), column 3 holds padding, and there the old kernel bytes of column 3 or 7: zero too.
 * Byte 512 is column 4 of kernel row 0, which comes from row 1: hosted byte 1 · 8 + 4 = 12, where A's kernel has tile 0, row
 * (12 mod 16) / 4 · 32 = 96, column 0. Kernel row 96 is row 97 of A: that number is what padding holds now. */
static void direct_leaves_the_old_kernels_scale_of_a_computed_row(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    audit(&scenario, "direct", "none");
    assert_first("w13_weight_scale", 0, 512 / 8, 512 % 8, CS_BYTE_PADDING);
    assert_bits(0, checkpoint_bits(0, "model.layers.0.mlp.experts.gate_up_proj_scales", CS_U8, 97 * 3 + 0));
    assert_int_equal(verdict.first.dtype, CS_E4M3);
}

/* Kernel row 0, column 0 is row 1, column 0: not padding. */
static void a_scale_that_was_not_sent_is_a_scale(void **state) {
    (void)state;
    audit_omitting("*.gate_up_proj_scales", "record_and_fill");
    assert_int_equal(verdict.count[CS_COUNT_params_differ], 1);
    assert_int_equal(verdict.count[CS_COUNT_missing], 1);
    assert_first("w13_weight_scale", 0, 0, 0, CS_BYTE_SCALE);
    assert_bits(checkpoint_bits(1, "model.layers.0.mlp.experts.gate_up_proj_scales", CS_U8, 1 * 3), RELOAD_GARBAGE);
    assert_why("R5: a tensor that was not sent is garbage");
}

/* A bias is f32 in the kernel: bits of bf16 moved up. It has no column. */
static void a_bias_that_was_not_sent_is_payload(void **state) {
    (void)state;
    audit_omitting("*.gate_up_proj_bias", "record_and_fill");
    assert_first("w13_bias", 0, 0, -1, CS_BYTE_PAYLOAD);
    assert_bits(checkpoint_bits(1, "model.layers.0.mlp.experts.gate_up_proj_bias", CS_BF16, 1) << 16, UINT64_C(0xAAAA0000));
    assert_int_equal(verdict.first.n_elements, 2 * 256); /* its padding too: nobody narrowed */
    assert_int_equal(verdict.first.dtype, CS_F32);
}

/* 5 blocks over 4 ranks: rank 3 loads none. With two layers, the first difference is still rank 0's. */
static void rank_and_layer_are_those_of_the_first_difference(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.model.intermediate = 160, scenario.model.layers = 2, scenario.tp = 4;
    audit(&scenario, "layerwise", "none");
    assert_int_equal(verdict.params_total, 4 * 2 * 6);
    assert_int_equal(verdict.count[CS_COUNT_params_differ], 4 * 2 * 6);
    assert_first("w13_weight", 0, 0, 48, CS_BYTE_PADDING);
    assert_int_equal(verdict.n_ranks, 4);
}

/* ---- why ---- */

static void garbage_is_traced_to_memory_that_nobody_wrote(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    audit(&scenario, "layerwise", "none");
    assert_true(verdict.n_why > 0 && verdict.n_why <= 15);
    assert_why("differing: w13_weight 1 of 1, w13_weight_scale 1 of 1, w2_weight 1 of 1");
    /* kernel row 0, column 48 ← row 1, column 48 of the loaded parameter */
    assert_why("its value began as expert 0, row 1, column 48 of w13_weight, and nobody wrote it since reload 1: fresh memory");
    assert_why("pairs_shuffle32");
    assert_why("w13_weight was created as zeros: its padding must hold 0");
    assert_why("P1: garbage padding after rematerialisation");
    assert_why("the tensor changes with what undefined memory holds");
    assert_why("record_and_fill");
    assert_not_why("P2");
    assert_not_why("stale");
}

/* One expert's bias is missing: kernel row 0 of expert 1 is row 1 of expert 1. */
static void a_value_is_traced_within_its_expert(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    static const char *const patterns[] = {"*.experts.1.w13_bias"};
    scenario.loader = "gpt_oss_streamed";
    plan[1].n_omitted = 1, plan[1].omitted = patterns;
    audit(&scenario, "layerwise", "record_and_fill");
    assert_first("w13_bias", 1, 0, -1, CS_BYTE_PAYLOAD);
    assert_int_equal(verdict.first.n_elements, 192); /* the other expert's call recorded the padding of both */
    assert_why("its value began as [1, 1] of w13_bias, and nobody wrote it since reload 1");
}

static void a_recycled_block_is_called_so(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.allocator.recycle_up_to = 1 << 20;
    audit(&scenario, "layerwise", "none");
    assert_why("a recycled block, with what others left there");
}

static void stale_bytes_are_traced_to_the_previous_update(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    audit(&scenario, "direct", "none");
    assert_why("differing: w13_weight_scale 1 of 1, w2_weight_scale 1 of 1, w13_bias 1 of 1, w2_bias 1 of 1");
    assert_why("P2: stale kernel bytes in padding");
    assert_why("kernel bytes of the previous update");
    assert_why("the tensor does not depend on undefined memory: a deterministic fault");
    /* the value itself came with A: row 97, column 0 of its scales */
    assert_why("checkpoint tensor model.layers.0.mlp.experts.gate_up_proj_scales, copied to expert 0, row 97, column 0");
    assert_why("by loader gpt_oss_combined in the cold start");
    assert_not_why("P1");
    assert_not_why("nobody wrote it");
}

/* Unit scales (R3): a policy that knows only zeros. */
static void a_wrong_constant_is_called_a_wrong_value(void **state) {
    (void)state;
    static const struct cs_template_tensor tensor = {.name = "p", .shape = "8", .kind = CS_PARAMETER, .dtype = CS_F32, .init = CS_INIT_ONES};
    static const double seven[] = {7};
    static const struct cs_toy_box tail = {{6}, {2}};
    static const struct cs_toy_call call = {.param = "p", .has_write = true, .write = {{0}, {6}}, .n_values = 1, .values = seven, .n_marks = 1, .marks = &tail};
    static const struct cs_toy_load loads[] = {{"A", 1, &call}, {"B", 1, &call}};
    struct cs_scenario scenario = toy_scenario(&tensor, 1, loads, 2);
    audit(&scenario, "layerwise", "zero_materialized");
    assert_int_equal(verdict.status, CS_FAILED);
    assert_string_equal(verdict.first.tensor, "toy.p");
    assert_int_equal(verdict.first.expert, -1);
    assert_int_equal(verdict.first.row, 6);
    assert_int_equal(verdict.first.layer, -1);
    assert_bits(0x3F800000, 0);
    assert_why("P3: wrong padding value");
    assert_why("created as ones: its padding must hold 1");
    assert_why("its value began as element 6 of p, written by zero_materialized in reload 1");
}

static void a_passing_verdict_without_differences_explains_nothing(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    audit(&scenario, "direct", "record_and_fill");
    assert_int_equal(verdict.count[CS_COUNT_params_differ], 0);
    assert_false(verdict.first.exists);
    assert_int_equal(verdict.n_why, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(layerwise_garbage_begins_behind_the_first_row, forget),
        cmocka_unit_test_teardown(direct_leaves_the_old_kernels_scale_of_a_computed_row, forget),
        cmocka_unit_test_teardown(a_scale_that_was_not_sent_is_a_scale, forget),
        cmocka_unit_test_teardown(a_bias_that_was_not_sent_is_payload, forget),
        cmocka_unit_test_teardown(rank_and_layer_are_those_of_the_first_difference, forget),
        cmocka_unit_test_teardown(garbage_is_traced_to_memory_that_nobody_wrote, forget),
        cmocka_unit_test_teardown(a_value_is_traced_within_its_expert, forget),
        cmocka_unit_test_teardown(a_recycled_block_is_called_so, forget),
        cmocka_unit_test_teardown(stale_bytes_are_traced_to_the_previous_update, forget),
        cmocka_unit_test_teardown(a_wrong_constant_is_called_a_wrong_value, forget),
        cmocka_unit_test_teardown(a_passing_verdict_without_differences_explains_nothing, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
