/* Reports of hand-written verdicts: the text to the letter, the JSON read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "sim/report/report.h"

/* ---- verdicts ---- */

static const struct cs_expected entries[] = {
    {.policy = "none", .has_count = {[CS_COUNT_params_differ] = true, [CS_COUNT_side_moved] = true},
     .count = {[CS_COUNT_params_differ] = 4, [CS_COUNT_side_moved] = 0}},
    {.policy = NULL, .is_equal = true},
};
static const struct cs_op ops[] = {
    {.kind = CS_OP_COLD_START, .line = 12, .driver = "cold_start", .checkpoint = "A"},
    {.kind = CS_OP_RELOAD, .line = 13, .driver = "layerwise", .checkpoint = "B"},
    {.kind = CS_OP_EXPECT, .line = 14, .n_expected = 2, .expected = entries},
};
static const char *const tags[] = {"moe", "padding"};
static const struct cs_scenario sync_scenario = {
    .file = "scenarios/gpt_oss/sync.lua", .line = 3, .name = "gpt_oss.sync", .n_tags = 2, .tags = tags, .n_ops = 3, .ops = ops};

static const char *const why[] = {"w13_bias: bytes written by nobody: uninitialised memory",
                                  "the loader wrote 5760 of 6144 rows"};

static struct cs_verdict passing(void) {
    return (struct cs_verdict){.scenario = &sync_scenario, .device = "ref", .policy = "record_and_fill", .seed = 1,
                               .status = CS_PASSED, .params_total = 12, .line = 14, .expected = "equal()",
                               .n_expectations = 1, .n_ranks = 1, .count = {[CS_COUNT_fill_calls] = 2},
                               .seconds = 0.25, .bytes_moved = 4096, .bytes_peak = 2048};
}

static struct cs_judged_state judged[] = {{.line = 12, .server = 0x1f},
                                          {.line = 14, .server = UINT64_C(0xfedcba9876543210), .has_cold_start = true, .cold_start = 2}};

static struct cs_verdict failing(void) {
    struct cs_verdict verdict = passing();
    verdict.policy = "none";
    verdict.status = CS_FAILED;
    verdict.reason = "line 14: params_differ: expected 4, got 8";
    verdict.expected = "params_differ = 4, side_moved = 0";
    verdict.count[CS_COUNT_params_differ] = 8;
    verdict.count[CS_COUNT_side_moved] = 0;
    verdict.count[CS_COUNT_params_lucky] = 3;
    verdict.count[CS_COUNT_fill_calls] = 0;
    verdict.count[CS_COUNT_excess] = 5;
    verdict.not_simulated = 7;
    verdict.is_lucky = true;
    verdict.warning = "toy.loose is not registered";
    verdict.first = (struct cs_first){.exists = true, .tensor = "model.layers.1.mlp.experts.w13_bias", .rank = 0, .layer = 1,
                                      .expert = 2, .row = 5760, .column = -1, .n_elements = 384, .n_total = 6144,
                                      .byte_class = CS_BYTE_PADDING, .expected = 0, .actual = 0x3FC0, .dtype = CS_BF16};
    verdict.why = why;
    verdict.n_why = 2;
    verdict.states = judged;
    verdict.n_states = CS_COUNT(judged);
    return verdict;
}

static char *text_of(const struct cs_verdict *verdict, bool colour) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    cs_report_text(out, verdict, colour);
    fclose(out);
    return text;
}

static void assert_report(const struct cs_verdict *verdict, const char *expected) {
    char *text = text_of(verdict, false);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_reports(const struct cs_verdict *verdict, const char *part) {
    char *text = text_of(verdict, false);
    if (!strstr(text, part)) fail_msg("\"%s\" is not in:\n%s", part, text);
    free(text);
}

/* ---- text ---- */

static void a_pass_is_one_line(void **state) {
    (void)state;
    struct cs_verdict verdict = passing();
    assert_report(&verdict, "PASSED  gpt_oss.sync  record_and_fill  ref  12 parameters equal\n");
}

/* R4: an expectation that holds is a pass: expected 8, got 8. */
static void a_pass_by_expected_differences_shows_them(void **state) {
    (void)state;
    struct cs_verdict verdict = passing();
    verdict.count[CS_COUNT_params_differ] = 8;
    verdict.count[CS_COUNT_params_lucky] = 4;
    verdict.count[CS_COUNT_side_moved] = 6;
    assert_report(&verdict, "PASSED  gpt_oss.sync  record_and_fill  ref  8 of 12 parameters differ, params_lucky 4, side_moved 6\n");
}

static void a_failure_shows_everything_that_finds_the_cause(void **state) {
    (void)state;
    struct cs_verdict verdict = failing();
    assert_report(&verdict,
                  "FAILED  gpt_oss.sync  none  ref\n"
                  "  scenarios/gpt_oss/sync.lua:14: params_differ: expected 4, got 8\n"
                  "  expected  params_differ = 4, side_moved = 0\n"
                  "  found     params_differ = 8, side_moved = 0\n"
                  "  params_differ        8  parameters and buffers whose bytes, shape, stride or dtype differ from the cold start (of 12)\n"
                  "  params_lucky         3  equal only by what undefined memory happened to hold\n"
                  "  excess               5  checkpoint tensors of the last load that no loader consumed\n"
                  "  first difference\n"
                  "    tensor    model.layers.1.mlp.experts.w13_bias\n"
                  "    place     rank 0, layer 1, expert 2, row 5760 (padding)\n"
                  "    expected  0 (bf16 0x0000)\n"
                  "    actual    1.5 (bf16 0x3fc0)\n"
                  "    differs   384 of 6144 elements\n"
                  "  why\n"
                  "    w13_bias: bytes written by nobody: uninitialised memory\n"
                  "    the loader wrote 5760 of 6144 rows\n"
                  "  by luck: 3 tensors are equal only by what undefined memory happened to hold\n"
                  "  repeat: coldstart run scenarios/gpt_oss/sync.lua -k gpt_oss.sync --policy none --seed 1\n");
}

/* The entry for every other policy is equal(): what is wrong is what is not 0. */
static void a_failed_equal_lists_what_is_not_zero(void **state) {
    (void)state;
    struct cs_verdict verdict = failing();
    verdict.policy = "record_and_fill";
    verdict.expected = "equal()";
    verdict.count[CS_COUNT_side_extra] = 2;
    assert_reports(&verdict, "  expected  equal()\n  found     params_differ = 8, params_lucky = 3, side_extra = 2, excess = 5\n");
}

static void a_failure_without_counts_says_so(void **state) {
    (void)state;
    struct cs_verdict verdict = passing();
    verdict.status = CS_FAILED;
    verdict.reason = "line 14: toy.weight[0]: expected 7, got 0";
    assert_report(&verdict,
                  "FAILED  gpt_oss.sync  record_and_fill  ref\n"
                  "  scenarios/gpt_oss/sync.lua:14: toy.weight[0]: expected 7, got 0\n"
                  "  expected  equal()\n"
                  "  found     every channel 0\n"
                  "  fill_calls           2  device calls of the padding policy in the last load\n"
                  "  repeat: coldstart run scenarios/gpt_oss/sync.lua -k gpt_oss.sync --policy record_and_fill --seed 1\n");
}

/* R8.3: equal, but only for this garbage. */
static void mistrust_is_as_loud_as_a_failure(void **state) {
    (void)state;
    struct cs_verdict verdict = passing();
    verdict.status = CS_MISTRUSTED;
    verdict.reason = "line 14: equal only by luck";
    verdict.is_lucky = true;
    verdict.count[CS_COUNT_fill_calls] = 0;
    verdict.count[CS_COUNT_params_lucky] = 1;
    assert_report(&verdict,
                  "MISTRUSTED  gpt_oss.sync  record_and_fill  ref\n"
                  "  scenarios/gpt_oss/sync.lua:14: equal only by luck\n"
                  "  expected  equal()\n"
                  "  found     params_lucky = 1\n"
                  "  params_lucky         1  equal only by what undefined memory happened to hold\n"
                  "  by luck: 1 tensor is equal only by what undefined memory happened to hold\n"
                  "  repeat: coldstart run scenarios/gpt_oss/sync.lua -k gpt_oss.sync --policy record_and_fill --seed 1\n");
}

static void a_refusal_and_a_skip_are_one_line_with_their_reason(void **state) {
    (void)state;
    struct cs_verdict verdict = passing();
    verdict.status = CS_REFUSED_AS_UPSTREAM;
    verdict.refused_reason = "96 is no multiple of 128";
    assert_report(&verdict, "REFUSED  gpt_oss.sync  record_and_fill  ref  96 is no multiple of 128\n");
    verdict.status = CS_SKIPPED;
    verdict.device = "gpu";
    verdict.reason = "no CUDA driver";
    assert_report(&verdict, "SKIPPED  gpt_oss.sync  record_and_fill  gpu  no CUDA driver\n");
}

/* R8.4: the audit never ran, so there is no expectation to blame. */
static void what_is_not_implemented_is_blamed_on_the_scenario(void **state) {
    (void)state;
    struct cs_verdict verdict = passing();
    verdict.status = CS_FAILED;
    verdict.line = 0;
    verdict.expected = "nothing";
    verdict.n_expectations = 0;
    verdict.count[CS_COUNT_fill_calls] = 0;
    verdict.reason = "unsupported: post-load of mxfp4 for marlin";
    assert_report(&verdict,
                  "FAILED  gpt_oss.sync  record_and_fill  ref\n"
                  "  scenarios/gpt_oss/sync.lua:3: unsupported: post-load of mxfp4 for marlin\n"
                  "  repeat: coldstart run scenarios/gpt_oss/sync.lua -k gpt_oss.sync --policy record_and_fill --seed 1\n");
}

static void colour_only_paints_the_first_word(void **state) {
    (void)state;
    struct cs_verdict verdict = passing();
    char *text = text_of(&verdict, true);
    assert_string_equal(text, "\033[32mPASSED\033[0m  gpt_oss.sync  record_and_fill  ref  12 parameters equal\n");
    free(text);
}

static void values_are_shown_as_number_and_bits(void **state) {
    (void)state;
    struct cs_verdict verdict = failing();
    verdict.first.dtype = CS_F32;
    verdict.first.expected = 0x3F800000;
    verdict.first.actual = 0x7FC00000;
    assert_reports(&verdict, "    expected  1 (f32 0x3f800000)\n    actual    nan (f32 0x7fc00000)\n");
    verdict.first.dtype = CS_U8;
    verdict.first.expected = 0;
    verdict.first.actual = 0xAA;
    assert_reports(&verdict, "    expected  0 (u8 0x00)\n    actual    170 (u8 0xaa)\n");
    verdict.first.dtype = CS_E2M1;
    verdict.first.actual = 0x7;
    assert_reports(&verdict, "    expected  0 (e2m1 0x0)\n    actual    6 (e2m1 0x7)\n");
}

static void a_changed_layout_has_no_values(void **state) {
    (void)state;
    struct cs_verdict verdict = failing();
    verdict.first.byte_class = CS_BYTE_LAYOUT;
    assert_reports(&verdict, "    place     rank 0, layer 1\n    shape, stride or dtype differs\n  why\n");
}

/* A tensor outside of the decoder layers, and a dense one: coordinates that it does not have are left out. */
static void coordinates_that_a_tensor_lacks_are_left_out(void **state) {
    (void)state;
    struct cs_verdict verdict = failing();
    verdict.first.layer = -1;
    verdict.first.expert = -1;
    verdict.first.row = 2;
    verdict.first.column = 9;
    verdict.first.byte_class = CS_BYTE_PAYLOAD;
    assert_reports(&verdict, "    place     rank 0, row 2, column 9 (payload)\n");
}

static void the_command_that_repeats_it_survives_the_shell(void **state) {
    (void)state;
    struct cs_checkpoint_config folder = {.name = "A", .kind = CS_CHECKPOINT_FOLDER, .path = "/data/it's here"};
    struct cs_scenario scenario = sync_scenario;
    scenario.file = "my scenarios/a.lua";
    scenario.name = "a*b";
    scenario.n_checkpoints = 1;
    scenario.checkpoints = &folder;
    struct cs_verdict verdict = failing();
    verdict.scenario = &scenario;
    verdict.device = "gpu";
    assert_reports(&verdict, "  repeat: coldstart run 'my scenarios/a.lua' -k 'a*b' --policy none --seed 1 --device gpu "
                             "--checkpoint A='/data/it'\\''s here'\n");
}

static void every_count_has_a_meaning(void **state) {
    (void)state;
    for (enum cs_count i = 0; i < CS_N_COUNTS; i++) {
        struct cs_verdict verdict = failing();
        memset(verdict.count, 0, sizeof verdict.count);
        verdict.count[i] = 77;
        char *text = text_of(&verdict, false), row[64];
        snprintf(row, sizeof row, "  %-13s       77  ", cs_count_names[i]);
        bool is_cost = i == CS_COUNT_buffered_bytes; /* no symptom: nobody looks for it in a failure */
        assert_int_equal(strstr(text, row) != NULL, !is_cost);
        assert_null(strstr(text, "(null)"));
        free(text);
    }
}

/* R8.5: the last line, and the line above it. */
static void totals_count_refused_as_passed_and_mistrusted_as_failed(void **state) {
    (void)state;
    struct cs_report_totals totals = {0};
    const enum cs_verdict_status seen[] = {CS_PASSED, CS_PASSED, CS_REFUSED_AS_UPSTREAM, CS_FAILED, CS_MISTRUSTED, CS_MISTRUSTED, CS_SKIPPED};
    struct cs_verdict verdict = passing();
    for (size_t i = 0; i < CS_COUNT(seen); i++) {
        verdict.status = seen[i];
        cs_report_count(&totals, &verdict);
    }
    char text[256] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    cs_report_text_totals(out, &totals);
    fclose(out);
    assert_string_equal(text, "1 refused (counted as passed), 2 mistrusted (counted as failed)\n3 passed, 3 failed, 1 skipped\n");
}

/* ---- JSON ---- */

static const char json_path[] = "report_test.json"; /* tests/python/json_schema.py validates it too */

static json_t *json_of(const struct cs_verdict *verdicts, size_t n) {
    struct cs_report_totals totals = {.device_left_out = "gpu: none"};
    for (size_t i = 0; i < n; i++) cs_report_count(&totals, &verdicts[i]);
    assert_int_equal(cs_report_json(json_path, verdicts, n, &totals), CS_OK);
    json_error_t error;
    json_t *report = json_load_file(json_path, JSON_REJECT_DUPLICATES, &error);
    if (!report) fail_msg("%s:%d: %s", json_path, error.line, error.text);
    return report;
}

static json_int_t integer_at(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("%s is no integer", key);
    return json_integer_value(value);
}

static const char *text_at(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    if (!text) fail_msg("%s is no string", key);
    return text;
}

static void json_has_what_the_verdict_has(void **state) {
    (void)state;
    struct cs_verdict verdict = failing();
    verdict.digest = 0xabc;
    json_t *report = json_of(&verdict, 1);
    assert_int_equal(integer_at(report, "schema"), 1);
    const json_t *found = json_array_get(json_object_get(report, "verdicts"), 0);
    assert_string_equal(text_at(found, "name"), "gpt_oss.sync");
    assert_string_equal(text_at(found, "file"), "scenarios/gpt_oss/sync.lua");
    assert_string_equal(text_at(found, "status"), "failed");
    assert_string_equal(text_at(found, "policy"), "none");
    assert_string_equal(text_at(found, "expect"), "params_differ = 4, side_moved = 0");
    assert_string_equal(text_at(found, "reason"), "line 14: params_differ: expected 4, got 8");
    assert_true(json_is_null(json_object_get(found, "refused_reason")));
    assert_string_equal(text_at(found, "warning"), "toy.loose is not registered");
    assert_int_equal(integer_at(found, "line"), 14);
    assert_int_equal(integer_at(found, "seed"), 1);
    assert_int_equal(integer_at(found, "params_differ"), 8);
    assert_int_equal(integer_at(found, "params_total"), 12);
    assert_int_equal(integer_at(found, "params_lucky"), 3);
    assert_int_equal(integer_at(found, "graph_differ"), 0);
    assert_int_equal(integer_at(found, "device_differ"), 0);
    assert_int_equal(integer_at(found, "bytes_moved"), 4096);
    assert_int_equal(integer_at(found, "peak_bytes"), 2048);
    assert_string_equal(text_at(found, "digest"), "0000000000000abc");
    assert_int_equal(json_array_size(json_object_get(found, "states")), 2);
    const json_t *second = json_array_get(json_object_get(found, "states"), 1);
    assert_int_equal(integer_at(second, "line"), 14);
    assert_string_equal(text_at(second, "server"), "fedcba9876543210");
    assert_string_equal(text_at(second, "cold_start"), "0000000000000002");
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(found, "states"), 0), "cold_start")));
    assert_int_equal(integer_at(json_object_get(found, "accounting"), "excess"), 5);
    assert_int_equal(integer_at(json_object_get(found, "accounting"), "not_simulated"), 7);
    assert_null(json_object_get(found, "excess"));
    assert_string_equal(json_string_value(json_array_get(json_object_get(found, "tags"), 1)), "padding");
    assert_int_equal(json_array_size(json_object_get(found, "why")), 2);
    json_decref(report);
}

static void json_gives_the_first_difference_in_coordinates(void **state) {
    (void)state;
    struct cs_verdict verdict = failing();
    json_t *report = json_of(&verdict, 1);
    const json_t *first = json_object_get(json_array_get(json_object_get(report, "verdicts"), 0), "first");
    assert_string_equal(text_at(first, "tensor"), "model.layers.1.mlp.experts.w13_bias");
    assert_int_equal(integer_at(first, "expert"), 2);
    assert_int_equal(integer_at(first, "row"), 5760);
    assert_true(json_is_null(json_object_get(first, "column")));
    assert_string_equal(text_at(first, "byte_class"), "padding");
    assert_true(json_real_value(json_object_get(first, "actual")) == 1.5);
    assert_string_equal(text_at(first, "actual_bits"), "0x3fc0");
    assert_string_equal(text_at(first, "expected_bits"), "0x0000");
    json_decref(report);
}

static void json_has_no_number_for_nan_and_no_first_for_equal(void **state) {
    (void)state;
    struct cs_verdict verdicts[] = {failing(), passing()};
    verdicts[0].first.actual = 0x7FC0;
    json_t *report = json_of(verdicts, 2), *list = json_object_get(report, "verdicts");
    const json_t *first = json_object_get(json_array_get(list, 0), "first");
    assert_true(json_is_null(json_object_get(first, "actual")));
    assert_string_equal(text_at(first, "actual_bits"), "0x7fc0");
    assert_true(json_is_null(json_object_get(json_array_get(list, 1), "first")));
    json_decref(report);
}

static void a_path_that_is_no_utf8_does_not_cost_the_report(void **state) {
    (void)state;
    struct cs_scenario scenario = sync_scenario;
    scenario.file = "caf\xE9.lua";
    struct cs_verdict verdict = passing();
    verdict.scenario = &scenario;
    json_t *report = json_of(&verdict, 1);
    assert_string_equal(text_at(json_array_get(json_object_get(report, "verdicts"), 0), "file"), "caf?.lua");
    json_decref(report);
}

/* The file that the schema's test reads: one verdict of every status. */
static void json_has_totals(void **state) {
    (void)state;
    struct cs_verdict verdicts[] = {failing(), passing(), passing(), passing(), passing(), failing()};
    verdicts[2].status = CS_SKIPPED;
    verdicts[2].reason = "no CUDA driver";
    verdicts[3].status = CS_REFUSED_AS_UPSTREAM;
    verdicts[3].refused_reason = "96 is no multiple of 128";
    verdicts[4].status = CS_MISTRUSTED;
    verdicts[5].first.byte_class = CS_BYTE_LAYOUT;
    json_t *report = json_of(verdicts, CS_COUNT(verdicts));
    const json_t *totals = json_object_get(report, "totals");
    assert_string_equal(text_at(report, "device_left_out"), "gpu: none");
    assert_int_equal(integer_at(totals, "passed"), 2);
    assert_int_equal(integer_at(totals, "failed"), 3);
    assert_int_equal(integer_at(totals, "skipped"), 1);
    assert_int_equal(integer_at(totals, "refused"), 1);
    assert_int_equal(integer_at(totals, "mistrusted"), 1);
    json_decref(report);
}

/* ---- files ---- */

static void a_report_replaces_the_old_one_and_leaves_no_temporary_file(void **state) {
    (void)state;
    char folder[] = "report_test.XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/r.json", folder);
    struct cs_report_totals totals = {0};
    assert_int_equal(cs_report_json(path, NULL, 0, &totals), CS_OK);
    assert_int_equal(cs_report_json(path, NULL, 0, &totals), CS_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* fails when anything else is left */
}

static void a_report_that_cannot_be_written_names_the_file(void **state) {
    (void)state;
    struct cs_report_totals totals = {0};
    assert_int_equal(cs_report_json("no/such/folder/r.json", NULL, 0, &totals), CS_INTERNAL);
    assert_non_null(strstr(cs_error_text(), "no/such/folder/r.json"));
    assert_non_null(strstr(cs_error_text(), "No such file or directory"));
}

/* A rename would put a file in the place of the device. */
static void devices_are_written_and_stay_devices(void **state) {
    (void)state;
    struct cs_report_totals totals = {0};
    struct stat found;
    assert_int_equal(cs_report_json("/dev/null", NULL, 0, &totals), CS_OK);
    assert_int_equal(stat("/dev/null", &found), 0);
    assert_true(S_ISCHR(found.st_mode));
    assert_int_equal(cs_report_json("/dev/full", NULL, 0, &totals), CS_INTERNAL);
    assert_string_equal(cs_error_text(), "cannot write \"/dev/full\": No space left on device: name a file in a folder that is there and has room");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_is_one_line),
        cmocka_unit_test(a_pass_by_expected_differences_shows_them),
        cmocka_unit_test(a_failure_shows_everything_that_finds_the_cause),
        cmocka_unit_test(a_failed_equal_lists_what_is_not_zero),
        cmocka_unit_test(a_failure_without_counts_says_so),
        cmocka_unit_test(mistrust_is_as_loud_as_a_failure),
        cmocka_unit_test(a_refusal_and_a_skip_are_one_line_with_their_reason),
        cmocka_unit_test(what_is_not_implemented_is_blamed_on_the_scenario),
        cmocka_unit_test(colour_only_paints_the_first_word),
        cmocka_unit_test(values_are_shown_as_number_and_bits),
        cmocka_unit_test(a_changed_layout_has_no_values),
        cmocka_unit_test(coordinates_that_a_tensor_lacks_are_left_out),
        cmocka_unit_test(the_command_that_repeats_it_survives_the_shell),
        cmocka_unit_test(every_count_has_a_meaning),
        cmocka_unit_test(totals_count_refused_as_passed_and_mistrusted_as_failed),
        cmocka_unit_test(json_has_what_the_verdict_has),
        cmocka_unit_test(json_gives_the_first_difference_in_coordinates),
        cmocka_unit_test(json_has_no_number_for_nan_and_no_first_for_equal),
        cmocka_unit_test(a_path_that_is_no_utf8_does_not_cost_the_report),
        cmocka_unit_test(json_has_totals),
        cmocka_unit_test(a_report_replaces_the_old_one_and_leaves_no_temporary_file),
        cmocka_unit_test(a_report_that_cannot_be_written_names_the_file),
        cmocka_unit_test(devices_are_written_and_stay_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
