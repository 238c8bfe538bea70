/* The kill matrix: what makes it wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/matrix/matrix.h"
#include "tests/support_script.h"

/* A toy whose only load has no padding: it can tell nothing about fills. */
#define TOY(rest)                                                                                                      \
    "return cs.scenario { name = 'toy', " rest                                                                         \
    " model = cs.toy { params = { { name = 'p', shape = 4, dtype = 'f32', created = 'zeros' } },"                      \
    " loads = { A = { { param = 'p', shape = 4, value = 1 } }, B = { { param = 'p', shape = 4, value = 2 } } } },"     \
    " run = function(s) s:cold_start 'A'; s:reload { driver = 'direct', checkpoint = 'B' }; s:expect { params_differ = "
#define EQUAL     "0 } end }"
#define DIFFERENT "1 } end }"

static struct cs_arena arena;

static struct cs_matrix run(const char *script, const enum cs_defect *mutants, size_t n, bool is_about_mutants) {
    static struct cs_scenario scenario;
    struct cs_matrix matrix;
    scenario = script_parse_good(script, &arena);
    const struct cs_matrix_plan plan = {.n_scenarios = 1,
                                        .scenarios = &scenario,
                                        .n_mutants = n,
                                        .mutants = mutants,
                                        .is_about_mutants = is_about_mutants};
    assert_int_equal(cs_matrix_run(&plan, &arena, &matrix), CS_OK);
    return matrix;
}

static void expect_problem(const struct cs_matrix *matrix, const char *text) {
    for (size_t i = 0; i < matrix->n_problems; i++)
        if (strstr(matrix->problems[i], text)) return;
    fail_msg("no problem says \"%s\"; the first of %zu: %s", text, matrix->n_problems,
             matrix->n_problems ? matrix->problems[0] : "");
}

static const enum cs_defect no_fill[] = {CS_DEFECT_NO_FILL}, cached[] = {CS_DEFECT_CACHED_CHECKPOINT};

static void a_mutant_that_nothing_kills_is_a_problem(void **state) {
    (void)state;
    struct cs_matrix matrix = run(TOY("") EQUAL, no_fill, 1, true);
    assert_int_equal(matrix.rows[0].n_kills, 0);
    assert_int_equal(matrix.rows[0].cells[0].state, CS_CELL_SURVIVED);
    expect_problem(&matrix, "mutant no_fill survives all 1 runs");
}

static void a_mutant_that_is_killed_is_none(void **state) {
    (void)state;
    struct cs_matrix matrix = run(TOY("") EQUAL, cached, 1, true);
    assert_int_equal(matrix.rows[0].cells[0].state, CS_CELL_KILLED);
    assert_int_equal(matrix.n_problems, 0);
    assert_string_equal(cs_channels[0].name, "bytes");
    assert_int_equal(matrix.alone, 1); /* params_differ is all that the expectation speaks of */
}

static void channels_that_are_never_alone_are_problems(void **state) {
    (void)state;
    struct cs_matrix matrix = run(TOY("") EQUAL, cached, 1, false);
    assert_int_equal(matrix.n_problems, cs_n_channels - 1);
    expect_problem(&matrix, "channel address is never the only one that sees a mutant");
}

static void a_scenario_that_is_not_clean_kills_nothing(void **state) {
    (void)state;
    struct cs_matrix matrix = run(TOY("") DIFFERENT, cached, 1, true);
    assert_false(matrix.columns[0].is_clean);
    assert_int_equal(matrix.rows[0].cells[0].state, CS_CELL_NOT_RUN);
    expect_problem(&matrix, "not clean without a mutant: toy, record_and_fill: line 1: params_differ: expected 1, got 0");
}

static void a_scenario_must_kill_what_it_lists(void **state) {
    (void)state;
    struct cs_matrix matrix = run(TOY("kills = { 'no_fill' },") EQUAL, no_fill, 1, true);
    expect_problem(&matrix, "toy lists mutant no_fill in kills, and does not kill it");
}

static void what_is_on_already_is_no_mutant(void **state) {
    (void)state;
    static const enum cs_defect standing[] = {CS_DEFECT_DUPLICATES_COUNT};
    struct cs_matrix matrix = run(TOY("") EQUAL, standing, 1, true);
    assert_int_equal(matrix.rows[0].cells[0].state, CS_CELL_ON_ALREADY);
    matrix = run(TOY("fixes = { 'duplicates_count' },") EQUAL, standing, 1, true);
    assert_int_equal(matrix.rows[0].cells[0].state, CS_CELL_SURVIVED);
}

/* A reload that equals the cold start of the same mutant: only the engine without it can tell. */
static void the_reference_speaks_when_no_other_channel_does(void **state) {
    (void)state;
    static const enum cs_defect value[] = {CS_DEFECT_VALUE_ALWAYS_ZERO};
    struct cs_matrix matrix =
        run("return cs.scenario { name = 'ones', model = cs.toy { params = { { name = 'p', shape = 2, dtype = 'f32', "
            "created = 'ones' } }, loads = { A = { { param = 'p', shape = 1, value = 2, marks = { { at = 1, shape = 1 "
            "} } } } } }, run = function(s) s:cold_start 'A'; s:expect { params_differ = 0 } end }",
            value, 1, true);
    assert_int_equal(matrix.rows[0].cells[0].state, CS_CELL_KILLED);
    uint32_t channels = matrix.rows[0].channels, reference = 0;
    for (size_t c = 0; c < cs_n_channels; c++)
        if (cs_text_equal(cs_channels[c].name, "reference")) reference = UINT32_C(1) << c;
    assert_int_equal(channels, reference);
}

static void reports_name_mutants_scenarios_and_channels(void **state) {
    (void)state;
    struct cs_matrix matrix = run(TOY("") EQUAL, cached, 1, true);
    char text[4096] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    cs_matrix_text(out, &matrix);
    fclose(out);
    assert_non_null(strstr(text, "killed     cached_checkpoint"));
    assert_non_null(strstr(text, "1 of 1, first toy (record_and_fill), seen by bytes\n"));
    assert_non_null(strstr(text, "1 of 1 mutants killed, 0 equivalent, 1 scenarios and policies, 1 runs, 0 wrong\n"));
    assert_int_equal(cs_matrix_json("matrix.json", &matrix), CS_OK);
    assert_int_equal(cs_matrix_html("matrix.html", &matrix), CS_OK);
    const char *const files[] = {"matrix.json", "matrix.html"};
    for (size_t i = 0; i < CS_COUNT(files); i++) {
        static char page[1 << 16];
        FILE *in = fopen(files[i], "r");
        assert_non_null(in);
        page[fread(page, 1, sizeof page - 1, in)] = 0;
        fclose(in);
        assert_non_null(strstr(page, "cached_checkpoint"));
        assert_non_null(strstr(page, "bytes"));
        assert_null(strstr(page, "<script src"));
    }
}

static int forget(void **state) {
    (void)state;
    cs_arena_release(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_mutant_that_nothing_kills_is_a_problem, forget),
        cmocka_unit_test_teardown(a_mutant_that_is_killed_is_none, forget),
        cmocka_unit_test_teardown(channels_that_are_never_alone_are_problems, forget),
        cmocka_unit_test_teardown(a_scenario_that_is_not_clean_kills_nothing, forget),
        cmocka_unit_test_teardown(a_scenario_must_kill_what_it_lists, forget),
        cmocka_unit_test_teardown(what_is_on_already_is_no_mutant, forget),
        cmocka_unit_test_teardown(the_reference_speaks_when_no_other_channel_does, forget),
        cmocka_unit_test_teardown(reports_name_mutants_scenarios_and_channels, forget),
    };
    return cmocka_run_group_tests(tests, script_folder_setup, script_folder_teardown);
}
