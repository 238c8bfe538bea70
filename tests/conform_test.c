/* Conformance must be able to fail: golden cases are copied, one thing in them is changed, and the case has to be
 * named. Unchanged, the captured cases have to pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/cli.h"
#include "sim/conform/reload.h"
#include "tests/support_files.h"
#include "tests/support_golden.h"

static int exit_of(const char *folder, const char *filter) {
    char verb[] = "conform", k[] = "-k", words[2][512];
    snprintf(words[0], sizeof words[0], "%s", folder);
    snprintf(words[1], sizeof words[1], "%s", filter ? filter : "");
    char *argv[] = {verb, words[0], k, words[1], NULL};
    return cs_verb_conform(filter ? 4 : 2, argv);
}

/* ---- edits ---- */

static json_t *param_of(json_t *json, const char *name) {
    return json_object_get(json_object_get(json, "params"), name);
}
static json_t *first_of(json_t *json, const char *key) { return json_array_get(json_object_get(json, key), 0); }
static json_t *first_step(json_t *json) { return first_of(json, "steps"); }
static void set_number(json_t *array, size_t i, json_int_t number) {
    json_array_set_new(array, i, json_integer(number));
}

/* The rectangle starts one row later in the checkpoint. */
static void move_source(json_t *json) {
    json_t *written = first_of(param_of(json, "w13_weight"), "written");
    set_number(json_object_get(written, "src_first"), 0, 1);
    json_object_del(written, "src_last");
    set_number(json_object_get(written, "ext"), 0, 191);
    json_array_append_new(json_object_get(param_of(json, "w13_weight"), "padding"),
                          json_pack("[[i,i],[i,i]]", 191, 0, 1, 48));
}

/* The last written row is called padding. */
static void shorten_written(json_t *json) {
    json_t *param = param_of(json, "w2_bias"), *written = first_of(param, "written");
    set_number(json_object_get(written, "ext"), 0, 95);
    json_object_del(written, "src_last");
    json_array_append_new(json_object_get(param, "padding"), json_pack("[[i,i],[i,i]]", 95, 0, 1, 1));
}

static void forget_padding(json_t *json) { json_array_clear(json_object_get(param_of(json, "w2_bias"), "padding")); }
static void pad_twice(json_t *json) {
    json_array_append(json_object_get(param_of(json, "w2_bias"), "padding"),
                      first_of(param_of(json, "w2_bias"), "padding"));
}
static void fill_with_one(json_t *json) {
    json_array_set_new(first_of(param_of(json, "w2_bias"), "filled"), 2, json_real(1.0));
}
static void miscount_written(json_t *json) {
    json_object_set_new(param_of(json, "w2_weight"), "n_written", json_integer(1));
}
static void miscount_loaded(json_t *json) {
    json_object_set_new(json_object_get(json, "reload_counter"), "counted_full_load", json_integer(1));
}
static void change_stride(json_t *json) { set_number(json_object_get(param_of(json, "w13_bias"), "stride"), 0, 1); }
static void change_init(json_t *json) { json_object_set_new(param_of(json, "w13_bias"), "init", json_string("empty")); }
static void change_dtype(json_t *json) {
    json_object_set_new(param_of(json, "w13_bias"), "dtype", json_string("float32"));
}
static void change_size(json_t *json) { json_object_set_new(json_object_get(json, "sizes"), "H", json_integer(7)); }
static void expect_refusal(json_t *json) {
    json_object_set_new(json, "load_error", json_pack("{s:s,s:s}", "type", "IndexError", "said", "start out of range"));
}
static void expect_value_error(json_t *json) {
    json_object_set_new(json_object_get(json, "load_error"), "type", json_string("ValueError"));
}

static void change_cold_hash(json_t *json) {
    json_object_set_new(json_object_get(json, "cold_hash_B"), "layers.0.mlp.router.bias",
                        json_string("0123456789abcdef"));
}
static void change_cold_stride(json_t *json) {
    json_t *row = json_object_get(json_object_get(json, "cold_meta"), "embed.weight");
    set_number(json_array_get(row, 1), 0, 1);
}
static void change_padding_count(json_t *json) {
    json_object_set_new(json_object_get(json, "pad_elems"), "layers.0.mlp.experts.routed_experts.w2_bias",
                        json_integer(127));
}
static void change_reload_hash(json_t *json) {
    json_object_set_new(json_array_get(json_object_get(first_step(json), "differing"), 3), "got_fnv64",
                        json_string("0123456789abcdef"));
}
static void forget_difference(json_t *json) { json_array_remove(json_object_get(first_step(json), "differing"), 0); }
static void forget_step(json_t *json) { json_object_del(first_step(json), "step"); }
static void list_equal_tensor(json_t *json) {
    json_t *list = json_object_get(first_step(json), "differing"), *entry = json_deep_copy(json_array_get(list, 0));
    json_object_set_new(entry, "name", json_string("embed.weight"));
    json_array_append_new(list, entry);
}
static void change_box(json_t *json) {
    set_number(json_array_get(json_object_get(first_of(first_step(json), "differing"), "bbox"), 0), 1, 2);
}
static void expect_move(json_t *json) {
    json_array_append_new(json_object_get(first_step(json), "moved"), json_string("embed.weight"));
}
static void expect_other_object(json_t *json) {
    json_array_append_new(json_object_get(first_step(json), "rebound"), json_string("embed.weight"));
}
static void forget_lost_alias(json_t *json) {
    json_array_remove(json_object_get(json_object_get(first_step(json), "held"), "lost_alias"), 0);
}
static void expect_gone(json_t *json) {
    json_array_append_new(json_object_get(json_object_get(first_step(json), "held"), "gone"),
                          json_string("layers.0.nothing"));
}
static void forget_meta_tensor(json_t *json) {
    json_array_remove(json_object_get(first_step(json), "meta_after_abort"), 0);
}
static void forget_pending_call(json_t *json) {
    json_object_set_new(json_object_get(first_step(json), "pending_after_abort"), "layers.0.norm", json_integer(0));
}
static void change_vs_a(json_t *json) {
    json_array_remove(json_object_get(first_step(json), "vs_coldA"), 0);
}
static void expect_untied(json_t *json) {
    json_object_set_new(first_step(json), "still_tied_object", json_false());
}
static void change_mutated(json_t *json) {
    json_array_append_new(json_object_get(json, "mutated"), json_string("embed.weight"));
}
static void change_error(json_t *json) { json_object_set_new(json, "error", json_string("TypeError('no')")); }
static void change_layout_op(json_t *json) {
    json_object_set_new(json, "op", json_string("fi.shuffle_matrix_of_tomorrow"));
}

/* ---- unchanged cases pass ---- */

static void captured_layouts_and_loaders_pass(void **state) {
    (void)state;
    static const char *const filters[] = {"layouts/",
                                          "errors.json",
                                          "reload.json",
                                          "gptoss-mx-96",
                                          "gptoss-mx-160",
                                          "gptoss-mx-stream",
                                          "rounding.json",
                                          "gptoss-mx-2880-MARLIN-tp8r3"};
    for (size_t i = 0; i < CS_COUNT(filters); i++) {
        struct outcome outcome = conform(GOLDEN, filters[i]);
        assert_int_equal(outcome.status, CS_OK);
        if (outcome.result.total.failed || !outcome.result.total.passed) fail_msg("%s", outcome.text);
        free(outcome.text);
    }
}

/* 845 scenarios of 41 small models and 5 special ones; the memory of 74 was not filled with a byte. */
static void every_captured_reload_is_repeated(void **state) {
    (void)state;
    struct outcome outcome = conform(GOLDEN, "reload/");
    const struct cs_conform_count *total = &outcome.result.total;
    if (total->failed) fail_msg("%s", outcome.text);
    assert_int_equal(total->passed, 771);
    assert_int_equal(total->unsupported, 0);
    assert_int_equal(total->not_replayable, 74);
    assert_non_null(strstr(outcome.text, ", 74 not replayable (their memory held what nobody recorded)\n"));
    free(outcome.text);
}

static void a_copy_passes_alone(void **state) {
    copy_layout(state, "gptoss_trtllm_E1_I128_H128", 0);
    assert_passes(*state, "layouts/index.json/gptoss", 0);
    copy_loader(state, "gptoss_mxfp4.json", "gptoss-mx-96-TRITON-tp1", NULL);
    assert_passes(*state, "loaders/", 0);
    copy_scenario(state, "gptoss_trt_tp2r0/same_twice/ff", NULL);
    assert_passes(*state, "reload/", 0);
}

static void defects_of_the_release_are_marked(void **state) {
    copy_scenario(state, "gptoss_trt_tp4r3/split_differently_streamed/aa",
                  NULL); /* refused, and without sizes of its own */
    assert_passes(*state, NULL, 1);
    struct outcome outcome = conform(*state, NULL);
    assert_non_null(strstr(outcome.text, "split_differently_streamed/aa: with defect streamed_padded_split\n"));
    free(outcome.text);
}

static void the_last_line_counts_without_unsupported_cases(void **state) {
    (void)state;
    struct outcome outcome = conform(GOLDEN, "layouts/index.json/bsi_2x");
    assert_int_equal(outcome.result.total.passed, 3);
    assert_non_null(strstr(outcome.text, "\n3 of 3 passed, 0 unsupported\n"));
    free(outcome.text);
    outcome = conform(GOLDEN, "/marlin4_");
    assert_int_equal(outcome.result.total.passed + outcome.result.total.failed, 0);
    free(outcome.text);
}

/* RandomState(7).permutation(n), as captured. */
static void arrival_orders_are_numpys(void **state) {
    (void)state;
    static const size_t of_19[] = {1, 2, 5, 18, 0, 17, 6, 10, 11, 8, 13, 9, 12, 14, 7, 16, 3, 4, 15};
    static const size_t of_31[] = {2, 18, 1,  9,  11, 5, 28, 30, 26, 16, 13, 20, 12, 17, 0, 29,
                                   6, 24, 21, 10, 27, 8, 14, 7,  23, 19, 3,  22, 25, 4,  15};
    size_t order[CS_COUNT(of_31)];
    cs_golden_permutation(7, CS_COUNT(of_19), order);
    assert_memory_equal(order, of_19, sizeof of_19);
    cs_golden_permutation(7, CS_COUNT(of_31), order);
    assert_memory_equal(order, of_31, sizeof of_31);
}

/* ---- changed cases fail ---- */

static void one_flipped_output_byte_fails(void **state) {
    copy_layout(state, "bsi_200x6", 1);
    assert_fails(*state, "FAILED layouts/index.json/bsi_200x6: ",
                 "out.y: 1 of 2048 bytes differ, the first is byte 2047: expected 0x01, got 0x00");
}

static void one_flipped_row_index_fails(void **state) {
    copy_layout(state, "w2_perm_m96_t128_None", 96 * 4 + 1); /* the input's 96 rows of 4 bytes are last in the file */
    assert_fails(*state, "layouts/index.json/w2_perm_m96_t128_None", "out.idx: 1 of ");
}

static void one_flipped_byte_after_post_load_fails(void **state) {
    copy_layout(state, "e2e_gptoss_trtllm_tp1_r0", 1);
    assert_fails(*state, "layouts/index.json/e2e_gptoss_trtllm_tp1_r0", "1 of ");
}

static void one_flipped_parameter_byte_fails(void **state) {
    copy_loader(state, "gptoss_mxfp4.json", "gptoss-mx-96-TRITON-tp1", NULL);
    const char *file = "loaders/gptoss-mx-96-TRITON-tp1.safetensors";
    copy_bytes(file, path_in(*state, file), 1);
    assert_fails(*state, "loaders/gptoss_mxfp4.json/gptoss-mx-96-TRITON-tp1", "1 of ");
}

static void every_change_of_a_loader_case_fails(void **state) {
    static const struct {
        const char *id, *reason;
        edit *change;
    } cases[] = {
        {"gptoss-mx-96-EMULATION-tp3r0", "size H: expected 7, got 96", change_size},
        {"gptoss-mx-96-FLASHINFER_TRTLLM_MXFP4_BF16-tp1",
         "[0, 0, 0]: expected element 48 of model.layers.0.mlp.experts.gate_up_proj_blocks, got element 0 of",
         move_source},
        {"gptoss-mx-96-FLASHINFER_TRTLLM_MXFP4_BF16-tp1",
         "w2_bias: 2 of 512 elements differ, the first is [0, 95, 0]: expected padding, got element 95 of "
         "model.layers.0.mlp.experts.down_proj_bias",
         shorten_written},
        {"gptoss-mx-96-FLASHINFER_TRTLLM_MXFP4_BF16-tp1", "no rectangle covers w2_bias[0, 96, 0]", forget_padding},
        {"gptoss-mx-96-FLASHINFER_TRTLLM_MXFP4_BF16-tp1", "two rectangles cover w2_bias[0, 96, 0]", pad_twice},
        {"gptoss-mx-160-MARLIN-tp4r3",
         "w2_bias: 128 of 512 elements differ, the first is [0, 0, 0]: expected 1 from the loader, got 0 from the "
         "loader",
         fill_with_one},
        {"gptoss-mx-96-FLASHINFER_TRTLLM_MXFP4_BF16-tp1",
         "w2_weight: expected 1 written and 23552 padding elements, got 9216 and 23552", miscount_written},
        {"gptoss-mx-96-FLASHINFER_TRTLLM_MXFP4_BF16-tp1", "counted_full_load: expected 1, got 29952", miscount_loaded},
        {"gptoss-mx-96-FLASHINFER_TRTLLM_MXFP4_BF16-tp1", "w13_bias: stride[0]: expected 1, got 256", change_stride},
        {"gptoss-mx-96-FLASHINFER_TRTLLM_MXFP4_BF16-tp1", "w13_bias: expected to be created as empty, got zeros",
         change_init},
        {"gptoss-mx-96-FLASHINFER_TRTLLM_MXFP4_BF16-tp1", "w13_bias: expected dtype float32, got bfloat16",
         change_dtype},
        {"gptoss-mx-96-FLASHINFER_TRTLLM_MXFP4_BF16-tp1", "expected a refusal (IndexError), got none", expect_refusal},
    };
    for (size_t i = 0; i < CS_COUNT(cases); i++) {
        copy_loader(state, "gptoss_mxfp4.json", cases[i].id, cases[i].change);
        assert_fails(*state, cases[i].id, cases[i].reason);
    }
}

static void a_refusal_of_another_class_fails(void **state) {
    copy_loader(state, "gptoss_mxfp4_streamed.json", "gptoss-mx-stream-96-TRITON-tp3r2", expect_value_error);
    assert_fails(*state, "gptoss-mx-stream-96-TRITON-tp3r2",
                 "expected a refusal of class value (ValueError), got class index");
    remove_family(path_in(*state, "loaders"));
    copy_scenario(state, "gptoss_trt_tp4r3/split_differently_streamed/aa", change_error);
    assert_fails(*state, "gptoss_trt_tp4r3/split_differently_streamed/aa", "expected a refusal of class type");
}

static void every_change_of_a_reload_fails(void **state) {
    static const char cold[] = "gptoss_trt_tp1/cold_determinism", twice[] = "gptoss_trt_tp1/same_twice/aa",
                      aborted[] = "bf16_trt_i96/abort_then_reload/aa";
    static const struct {
        const char *id, *reason;
        edit *change;
    } cases[] = {
        {cold, "layers.0.mlp.router.bias: cold hash: expected 0123456789abcdef, got", change_cold_hash},
        {cold, "embed.weight: got bf16[16, 224], which is not the expected shape, stride or dtype", change_cold_stride},
        {cold, "w2_bias: expected 127 padding elements, got 128", change_padding_count},
        {twice,
         "step 1 (reloadA): layers.0.mlp.experts.routed_experts.w2_bias: reloaded hash: expected 0123456789abcdef, got",
         change_reload_hash},
        {twice, "w13_bias: expected to equal the cold start, got 256 differing elements", forget_difference},
        {twice, "step 1 (reloadA): embed.weight: ", list_equal_tensor},
        {twice, "step 1: golden file: \"step\" is missing", forget_step},
        {twice, "differing elements of dimension 0: expected 0 to 2, got 0 to 3", change_box},
        {twice, "embed.weight: expected another address after the reload", expect_move},
        {twice, "embed.weight: expected another object after the reload", expect_other_object},
        {twice, "expected lost_alias: no, got yes", forget_lost_alias},
        {twice, "layers.0.nothing: the real model holds this tensor, ours does not", expect_gone},
        {aborted, "expected not on the meta device after the interruption", forget_meta_tensor},
        {aborted, "layers.0.norm: expected 0 buffered calls after the interruption, got 1", forget_pending_call},
        {"bf16_trt_i96/partial/aa", "expected to equal the cold start of A, got the contrary", change_vs_a},
        {"tied/aa", "lm_head.weight: expected another object as embed.weight", expect_untied},
        {"gptoss_source_mutated", "expected 2 checkpoint tensors to be changed, got 1", change_mutated},
    };
    for (size_t i = 0; i < CS_COUNT(cases); i++) {
        copy_scenario(state, cases[i].id, cases[i].change);
        assert_fails(*state, cases[i].id, cases[i].reason);
    }
}

/* ---- what cannot be judged ---- */

static void an_unknown_operation_is_unsupported_and_never_passes(void **state) {
    copy_layout(state, "bsi_200x6", 0);
    json_t *index = json_load_file(path_in(*state, "layouts/index.json"), 0, NULL);
    change_layout_op(json_array_get(index, 0));
    write_json(path_in(*state, "layouts/index.json"), index);
    struct outcome outcome = conform(*state, NULL);
    assert_int_equal(outcome.status, CS_OK);
    assert_int_equal(outcome.result.total.unsupported, 1);
    assert_int_equal(outcome.result.total.passed + outcome.result.total.failed, 0);
    free(outcome.text);
    assert_int_equal(exit_of(*state, NULL), CS_EXIT_NOTHING);
}

static void exit_statuses_tell_the_outcomes_apart(void **state) {
    assert_int_equal(exit_of(GOLDEN, "layouts/index.json/bsi_1x1"), CS_EXIT_PASSED);
    assert_int_equal(exit_of(GOLDEN, "no such case"), CS_EXIT_NOTHING);
    assert_int_equal(exit_of(*state, NULL), CS_EXIT_NOTHING); /* an empty folder */
    assert_int_equal(exit_of(path_in(*state, "nowhere"), NULL), CS_EXIT_USAGE);
    copy_layout(state, "bsi_1x1", 1);
    assert_int_equal(exit_of(*state, NULL), CS_EXIT_FAILED);
    assert_int_equal(exit_of(*state, "reload/"), CS_EXIT_NOTHING);
}

/* The whole run fails, with a message that names the file and says what is wrong. */
static void assert_refuses(const char *folder, const char *file, const char *reason) {
    struct outcome outcome = conform(folder, NULL);
    assert_int_equal(outcome.status, CS_BAD_FILE);
    if (!strstr(cs_error_text(), file) || !strstr(cs_error_text(), reason)) fail_msg("%s", cs_error_text());
    free(outcome.text);
}

static void files_that_list_no_cases_are_errors(void **state) {
    static const struct {
        const char *family, *file, *text, *reason;
    } files[] = {
        {"layouts", "layouts/index.json", "[{\"case\": \n}", "index.json:2: "},
        {"layouts", "layouts/index.json", "{}", "is not a list of cases"},
        {"layouts", "layouts/index.json", "[{\"case\": \"x\"}]", "entry 0 has no \"case\" or no \"op\""},
        {"loaders", "loaders/odd.json", "[{}]", "entry 0 has no \"id\""},
        {"loaders", "loaders/odd.json", "{\"a\": 1, \"a\": 2}", "duplicate"},
        {"reload", "reload/scenarios.json", "{\"scenarios\": 7}", "has no list \"scenarios\""},
        {"reload", "reload/scenarios.json", "{\"scenarios\": [{}]}", "scenario 0 has no \"id\""},
    };
    for (size_t i = 0; i < CS_COUNT(files); i++) {
        const char *folder = family_folder(state, files[i].family);
        write_bytes(path_in(*state, files[i].file), files[i].text, strlen(files[i].text));
        assert_refuses(*state, files[i].file, files[i].reason);
        remove_family(folder);
        rmdir(folder);
    }
}

static void missing_files_are_errors(void **state) {
    assert_refuses(path_in(*state, "nowhere"), "nowhere", "no such folder");
    family_folder(state, "layouts");
    assert_refuses(*state, "layouts/index.json", "No such file");
    copy_layout(state, "bsi_1x1", 0);
    unlink(path_in(*state, "layouts/bsi_1x1.safetensors"));
    assert_fails(*state, "layouts/index.json/bsi_1x1", "bsi_1x1.safetensors: No such file");
}

static void folders_that_cannot_be_read_are_errors(void **state) {
    write_bytes(path_in(*state, "reload"), "", 0);
    assert_refuses(*state, "reload", "is not a folder");
    unlink(path_in(*state, "reload"));
    const char *folder = family_folder(state, "loaders");
    chmod(folder, 0);
    if (!drop_root()) skip();
    assert_refuses(*state, "loaders", "Permission denied");
    regain_root();
    chmod(folder, 0755);
}

static void a_case_that_lacks_a_key_fails_by_its_name(void **state) {
    copy_layout(state, "shuffle_a_m32_k64_t128", 0);
    json_t *index = json_load_file(path_in(*state, "layouts/index.json"), 0, NULL);
    json_object_del(json_object_get(json_array_get(index, 0), "params"), "epilogue_tile_m");
    write_json(path_in(*state, "layouts/index.json"), index);
    assert_fails(*state, "shuffle_a_m32_k64_t128", "\"epilogue_tile_m\" is missing");
}

int main(void) {
#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_test_folder, remove_golden_copies)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_layouts_and_loaders_pass),
        cmocka_unit_test(every_captured_reload_is_repeated),
        IN_FOLDER(a_copy_passes_alone),
        IN_FOLDER(defects_of_the_release_are_marked),
        cmocka_unit_test(the_last_line_counts_without_unsupported_cases),
        cmocka_unit_test(arrival_orders_are_numpys),
        IN_FOLDER(one_flipped_output_byte_fails),
        IN_FOLDER(one_flipped_row_index_fails),
        IN_FOLDER(one_flipped_byte_after_post_load_fails),
        IN_FOLDER(one_flipped_parameter_byte_fails),
        IN_FOLDER(every_change_of_a_loader_case_fails),
        IN_FOLDER(a_refusal_of_another_class_fails),
        IN_FOLDER(every_change_of_a_reload_fails),
        IN_FOLDER(an_unknown_operation_is_unsupported_and_never_passes),
        IN_FOLDER(exit_statuses_tell_the_outcomes_apart),
        IN_FOLDER(files_that_list_no_cases_are_errors),
        IN_FOLDER(missing_files_are_errors),
        IN_FOLDER(folders_that_cannot_be_read_are_errors),
        IN_FOLDER(a_case_that_lacks_a_key_fails_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
