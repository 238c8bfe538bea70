/* Legitimate differences (R7): declared with a reason, left out of comparisons, told, and refused when nobody needs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/audit/audit.h"
#include "tests/support_script.h"

/* Rows of `p` that no load writes, 4 of 4 columns; today's rules leave garbage there. */
#define SCENARIO(written, differs)                                                                                     \
    "return cs.scenario { name = 'toy', policies = { 'none' }, differs = { " differs " }, model = cs.toy { params = {" \
    " { name = 'p', shape = { 4, 4 }, dtype = 'f32', created = 'zeros' } }, loads = {"                                 \
    " A = { { param = 'p', at = { 0, 0 }, shape = { " written ", 4 }, value = 1 } },"                                  \
    " B = { { param = 'p', at = { 0, 0 }, shape = { " written ", 4 }, value = 2 } } } },"                              \
    " run = function(s) s:cold_start 'A'; s:reload { driver = 'layerwise', checkpoint = 'B' }; s:expect(cs.equal()) end }"
#define LAST_ROW  "{ tensor = 'toy.p', region = { at = { 3, 0 }, shape = { 1, 4 } }, reason = 'vocabulary padding' }"
#define FIRST_ROW "{ tensor = 'toy.p', region = { at = { 0, 0 }, shape = { 1, 4 } }, reason = 'a guess' }"

static struct cs_arena arena;

static enum cs_status judge(const char *script, struct cs_verdict *verdict) {
    static struct cs_scenario scenario;
    scenario = script_parse_good(script, &arena);
    const struct cs_audit_options options = {.device = cs_devices[0], .policy = "none", .seed = 1};
    return cs_audit_scenario(&scenario, &options, &arena, verdict);
}

static void without_a_declaration_the_padding_differs(void **state) {
    (void)state;
    struct cs_verdict verdict;
    assert_int_equal(judge(SCENARIO("3", ""), &verdict), CS_OK);
    assert_int_equal(verdict.status, CS_FAILED);
    assert_int_equal(verdict.count[CS_COUNT_params_differ], 1);
}

static void declared_padding_may_differ_and_is_counted(void **state) {
    (void)state;
    struct cs_verdict verdict;
    assert_int_equal(judge(SCENARIO("3", LAST_ROW), &verdict), CS_OK);
    assert_int_equal(verdict.status, CS_PASSED);
    assert_int_equal(verdict.count[CS_COUNT_params_differ], 0);
    assert_int_equal(verdict.n_excused[0], 1);
}

/* Two rows are garbage, one of them is excused: the first difference is in the other. */
static void only_the_declared_region_may_differ(void **state) {
    (void)state;
    struct cs_verdict verdict;
    assert_int_equal(judge(SCENARIO("2", LAST_ROW), &verdict), CS_OK);
    assert_int_equal(verdict.status, CS_FAILED);
    assert_int_equal(verdict.first.row, 2);
    assert_int_equal(verdict.first.n_elements, 4);
}

static void a_declaration_that_nothing_needs_fails(void **state) {
    (void)state;
    struct cs_verdict verdict;
    assert_int_equal(judge(SCENARIO("3", LAST_ROW ", " FIRST_ROW), &verdict), CS_OK);
    assert_int_equal(verdict.status, CS_FAILED); /* the first declaration that names a tensor speaks for it */
    assert_non_null(strstr(verdict.reason, "\"toy.p\" is declared to differ (a guess) and never did: take it out"));
    assert_int_equal(judge(SCENARIO("4", LAST_ROW), &verdict), CS_OK);
    assert_int_equal(verdict.status, CS_FAILED);
    assert_int_equal(verdict.seen, CS_SEEN_BIT(CS_SEEN_EXCUSE));
}

static void a_region_must_fit_its_tensor(void **state) {
    (void)state;
    struct cs_verdict verdict;
    assert_int_equal(
        judge(SCENARIO("3", "{ tensor = 'toy.*', region = { at = { 3, 0 }, shape = { 2, 4 } }, reason = 'x' }"), &verdict),
        CS_BAD_SCRIPT);
    assert_non_null(strstr(cs_error_text(), "the region of \"toy.*\" does not fit a tensor that is f32[4, 4]"));
}

static int forget(void **state) {
    (void)state;
    cs_arena_release(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(without_a_declaration_the_padding_differs, forget),
        cmocka_unit_test_teardown(declared_padding_may_differ_and_is_counted, forget),
        cmocka_unit_test_teardown(only_the_declared_region_may_differ, forget),
        cmocka_unit_test_teardown(a_declaration_that_nothing_needs_fails, forget),
        cmocka_unit_test_teardown(a_region_must_fit_its_tensor, forget),
    };
    return cmocka_run_group_tests(tests, script_folder_setup, script_folder_teardown);
}
