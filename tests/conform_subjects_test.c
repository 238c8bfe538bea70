/* What captured cases prove of a back end: single cases, and what they are enough for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support_files.h"
#include "tests/support_golden.h"
#include "tests/support_session.h"

static struct cs_arena arena;
static struct cs_conform_subjects subjects;

static void read(void **state) { assert_ok(cs_conform_subjects(*state, &arena, &subjects)); }

static const struct cs_backend *backend_of(const char *method, const char *name) {
    const struct cs_backend *backend = cs_backend_by_name(cs_method_by_name(method), name);
    assert_non_null(backend);
    return backend;
}

static enum cs_proof loading(const char *method, const char *backend, const char *loader) {
    return cs_conform_proves_loading(&subjects, cs_method_by_name(method), backend_of(method, backend), cs_loader_by_name(loader));
}

static enum cs_proof post_load(const char *method, const char *backend, const char **missing) {
    return cs_conform_proves_post_load(&subjects, backend_of(method, backend), missing);
}

static void without_cases_nothing_is_proved(void **state) {
    const char *missing;
    family_folder(state, "loaders"); /* a family without cases */
    read(state);
    assert_int_equal(subjects.n, 0);
    assert_int_equal(post_load("fp8_block", "flashinfer_trtllm", &missing), CS_PROOF_NOTHING);
    assert_non_null(missing);
    assert_int_equal(loading("fp8_block", "triton", "per_expert_fp8_block"), CS_PROOF_NOTHING);
}

/* The case runs the table that this back end calls, and not the other one's. */
static void a_captured_function_proves_who_calls_it(void **state) {
    const char *missing;
    copy_layout(state, "fp8block_trt_E1_I128_H128_b128", 0);
    read(state);
    assert_int_equal(subjects.n, 1);
    assert_int_equal(subjects.items[0].n_cases, 1);
    assert_string_equal(subjects.items[0].table->name, "fp8_block_trtllm");
    assert_int_equal(post_load("fp8_block", "flashinfer_trtllm", &missing), CS_PROOF_BYTES);
    assert_null(missing);
    assert_int_equal(post_load("fp8_block", "flashinfer_cutlass", &missing), CS_PROOF_NOTHING);
    assert_non_null(missing);
}

/* GPTQ's words, K first, must become what was captured of rows; all that its back end does has zero points too. */
static void a_captured_function_proves_another_format(void **state) {
    const char *missing;
    copy_layout(state, "marlin_int4_E1_I96_H64_g32_zp", 0);
    read(state);
    assert_string_equal(subjects.items[0].table->name, "wna16_marlin");
    assert_string_equal(subjects.items[0].also[0]->name, "gptq_marlin_and_zeros");
    assert_string_equal(subjects.items[0].also[1]->name, "awq_marlin");
    assert_int_equal(post_load("gptq", "marlin", &missing), CS_PROOF_BYTES);
    assert_int_equal(post_load("awq", "marlin", &missing), CS_PROOF_BYTES);
}

static void without_zero_points_it_proves_parts(void **state) {
    const char *missing;
    copy_layout(state, "marlin_int4_E1_I64_H64_g32", 0);
    read(state);
    assert_string_equal(subjects.items[0].also[0]->name, "gptq_marlin");
    assert_int_equal(post_load("gptq", "marlin", &missing), CS_PROOF_PARTS);
}

static void a_captured_load_proves_its_own_back_end(void **state) {
    copy_loader(state, "fp8_block.json", "fp8blk-auto-I256-H128-tp1r0", NULL);
    read(state);
    assert_int_equal(subjects.n, 1);
    assert_int_equal(loading("fp8_block", "triton", "per_expert_fp8_block"), CS_PROOF_BYTES);
    assert_int_equal(loading("fp8_block", "marlin", "per_expert_fp8_block"), CS_PROOF_PARTS);
    assert_int_equal(loading("unquantized", "triton", "per_expert"), CS_PROOF_NOTHING);
}

/* A reload's hashes are of what post-load left. */
static void a_captured_reload_proves_loading_and_post_load(void **state) {
    const char *missing;
    copy_scenario(state, "gptoss_trt_tp1/A_B_A/aa", NULL);
    read(state);
    assert_int_equal(post_load("gpt_oss_mxfp4", "flashinfer_trtllm", &missing), CS_PROOF_BYTES);
    assert_int_equal(loading("gpt_oss_mxfp4", "flashinfer_trtllm", "gpt_oss_combined"), CS_PROOF_BYTES);
    assert_int_equal(loading("gpt_oss_mxfp4", "flashinfer_trtllm", "gpt_oss_streamed"), CS_PROOF_NOTHING);
    assert_int_equal(post_load("gpt_oss_mxfp4", "emulation", &missing), CS_PROOF_BYTES); /* it changes no byte */
}

static int clean(void **state) {
    cs_arena_release(&arena);
    return remove_golden_copies(state);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, make_test_folder, clean)

int main(void) {
    const struct CMUnitTest tests[] = {
        ROW(without_cases_nothing_is_proved),
        ROW(a_captured_function_proves_who_calls_it),
        ROW(a_captured_function_proves_another_format),
        ROW(without_zero_points_it_proves_parts),
        ROW(a_captured_load_proves_its_own_back_end),
        ROW(a_captured_reload_proves_loading_and_post_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
