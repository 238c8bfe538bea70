/* Coverage by meaning: states of cells by hand, paths of plans, files that join, and that whoever is new starts at
 * zero. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coverage/model.h"
#include "sim/coverage/coverage.h"
#include "sim/script/script.h"
#include "tests/support_cli.h"
#include "tests/support_coverage.h"

/* ---- cells ---- */

static void states_of_cells_are_as_declared(void **state) {
    (void)state;
    static const struct {
        const char *cell;
        enum cs_path_state state;
        const char *reason;
    } rows[] = {
        {"loader=per_expert,method=unquantized", CS_PATH_VALID, NULL},
        {"loader=per_expert,method=gpt_oss_mxfp4", CS_PATH_ILLEGAL, "does not load this method"},
        {"method=gpt_oss_mxfp4,backend=vllm_cutlass", CS_PATH_ILLEGAL, "no such back end"},
        {"driver=direct,before=nothing", CS_PATH_ILLEGAL, "needs a running server"},
        {"driver=cold_start,before=cold", CS_PATH_ILLEGAL, "starts first"},
        {"driver=kernel_format,arrival=shuffled", CS_PATH_ILLEGAL, "takes no checkpoint tensors"},
        {"loader=per_expert,driver=kernel_format", CS_PATH_IGNORED, "runs no loader"},
        {"driver=direct,before=meta", CS_PATH_ILLEGAL, "no checkpoint layout"},
        {"driver=direct,before=waiting", CS_PATH_ILLEGAL, "on the meta device"},
        {"policy=none,device=gpu", CS_PATH_IGNORED, "no run on such a device"},
        {"policy=none,device=emu", CS_PATH_VALID, NULL},
        {"loader=per_expert,arrival=unknown", CS_PATH_ILLEGAL, "asked for a module of that name"},
        {"loader=gpt_oss_combined,arrival=unknown", CS_PATH_VALID, NULL},
        {"loader=per_expert,arrival=other_loader", CS_PATH_IGNORED, "no other loader"},
        {"loader=gpt_oss_streamed,arrival=other_loader", CS_PATH_VALID, NULL},
        /* No rule names these two: no method has both. */
        {"loader=gpt_oss_streamed,backend=vllm_cutlass", CS_PATH_ILLEGAL, ""},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        struct cs_way cell = cell_of(rows[i].cell), example;
        const char *reason;
        enum cs_path_state found = cs_cell_judge(&model, &cell, &reason, &example);
        if (found != rows[i].state)
            fail_msg("%s: %s, %s", rows[i].cell, cs_path_state_name(found), reason ? reason : "");
        if (rows[i].reason) assert_says(reason, rows[i].reason);
        char text[CS_CELL_TEXT];
        if (!rows[i].reason) assert_says(cs_cell_text(&model, &example, text), strchr(rows[i].cell, ',') + 1);
    }
}

static void slips_of_the_pen_are_named(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"drivr=direct", "no axis is named \"drivr\"; did you mean driver"},
        {"driver=dirct", "axis driver has no value \"dirct\"; did you mean direct"},
        {"driver", "a cell is AXIS=VALUE"},
    };
    struct cs_way cell;
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        assert_int_equal(cs_cell_parse(&model, rows[i][0], &cell), CS_BAD_VALUE);
        assert_says(cs_error_text(), rows[i][1]);
    }
}

/* ---- paths ---- */

static struct cs_op ops[8];
static struct cs_verdict verdict;

static struct cs_scenario plan_of(size_t n_ops) {
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.n_ops = n_ops, scenario.ops = ops;
    verdict = (struct cs_verdict){.scenario = &scenario, .policy = "none", .device = "ref"};
    return scenario;
}

static void assert_path(const struct cs_scenario *scenario, size_t op, const char *expected) {
    struct cs_way way, cell = cell_of(expected);
    assert_true(cs_coverage_path(&model, scenario, op, "none", "ref", &way));
    char text[CS_CELL_TEXT];
    for (int a = 0; a < CS_N_PATH_AXES; a++)
        if (cell.value[a] != CS_PATH_ANY && cell.value[a] != way.value[a])
            fail_msg("operation %zu is %s, expected %s", op, cs_cell_text(&model, &way, text), expected);
}

static void every_load_of_a_plan_is_a_path(void **state) {
    (void)state;
    static const char *const omitted[] = {"*"};
    ops[0] = (struct cs_op){.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = "A"};
    ops[1] =
        (struct cs_op){.kind = CS_OP_RELOAD, .driver = "direct", .checkpoint = "B", .n_omitted = 1, .omitted = omitted};
    ops[2] = (struct cs_op){.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "B", .is_stopped = true};
    ops[3] = (struct cs_op){.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "B", .is_shuffled = true};
    ops[4] = (struct cs_op){.kind = CS_OP_SLEEP, .sleep_level = 2};
    ops[5] = (struct cs_op){.kind = CS_OP_WAKE};
    ops[6] = (struct cs_op){
        .kind = CS_OP_RELOAD, .driver = "direct", .checkpoint = "A", .loader = "gpt_oss_streamed", .is_stopped = true};
    ops[7] = (struct cs_op){.kind = CS_OP_RELOAD, .driver = "kernel_format", .checkpoint = "A"};
    struct cs_scenario scenario = plan_of(8);
    scenario.tp = 4;
    const char *const expected[] = {
        "loader=gpt_oss_combined,method=gpt_oss_mxfp4,backend=flashinfer_trtllm,driver=cold_start,before=nothing,"
        "sharding=tp3+,arrival=in_order",
        "driver=direct,before=cold,arrival=partial",
        "driver=layerwise,before=partial,arrival=stopped",
        "driver=layerwise,before=waiting,arrival=shuffled",
        NULL,
        NULL,
        "driver=direct,before=woken,loader=gpt_oss_streamed,arrival=stopped",
        "driver=kernel_format,before=partial,loader=none",
    };
    struct cs_way way;
    for (size_t i = 0; i < 8; i++) {
        if (expected[i])
            assert_path(&scenario, i, expected[i]);
        else
            assert_false(cs_coverage_path(&model, &scenario, i, "none", "ref", &way));
    }
}

/* Three loads went through, the fourth was refused, the others never ran. */
static void only_loads_that_ran_are_noted(void **state) {
    (void)state;
    for (size_t i = 0; i < 6; i++)
        ops[i] = (struct cs_op){
            .kind = i ? CS_OP_RELOAD : CS_OP_COLD_START, .driver = i ? "layerwise" : "cold_start", .checkpoint = "A"};
    ops[3].driver = "direct";
    struct cs_scenario scenario = plan_of(6);
    verdict.n_accepted = 3, verdict.n_refused = 1;
    verdict.probes[CS_LOAD_PROBE_narrowed] = 7;
    assert_ok(cs_coverage_note(&coverage, &scenario, &verdict));
    assert_ok(cs_coverage_note(&coverage, &scenario, &verdict));
    assert_int_equal(coverage.n_runs, 2);
    assert_int_equal(coverage.n_paths, 4); /* cold start; reload of a cold server; of a reloaded one; the refused one */
    assert_int_equal(coverage.paths[2].accepted, 2);
    assert_int_equal(coverage.paths[3].refused, 2);
    assert_int_equal(coverage.paths[3].accepted, 0);
    assert_int_equal(coverage.probes[CS_LOAD_PROBE_narrowed], 14);
    assert_int_equal(coverage.n_sequences, 1);
    assert_string_equal(coverage.sequences[0].text, "cold_start layerwise layerwise");
}

static void an_accepted_illegal_load_is_a_fault(void **state) {
    (void)state;
    struct cs_seen_path seen = {
        .path = cell_of("loader=gpt_oss_combined,method=gpt_oss_mxfp4,backend=flashinfer_trtllm,driver=direct,"
                        "before=waiting,sharding=tp1,policy=none,arrival=in_order,device=ref"),
        .refused = 5,
        .scenario = "s"};
    const struct cs_seen_path *first;
    assert_ok(cs_coverage_add(&coverage, &seen));
    assert_int_equal(cs_coverage_faults(&coverage, &first), 0);
    seen.accepted = 1;
    assert_ok(cs_coverage_add(&coverage, &seen));
    assert_int_equal(cs_coverage_faults(&coverage, &first), 1);
    assert_int_equal(first->refused, 10);
}

/* ---- what is new starts at zero ---- */

static struct cs_cells pairs_of(const struct cs_coverage *seen) {
    struct cs_cells cells;
    assert_ok(cs_cells_count(seen, 2, &arena, &cells));
    return cells;
}

static void add_every_pair(struct cs_coverage *seen) {
    struct cs_cells cells = pairs_of(seen);
    for (size_t c = 0; c < cells.n_crosses; c++)
        for (size_t i = 0; i < cells.crosses[c].n_cells; i++) {
            struct cs_seen_path way = {.accepted = 1, .scenario = "s"};
            struct cs_way cell;
            const char *reason;
            cs_cross_cell(seen->model, &cells.crosses[c], i, &cell);
            if (cs_cell_judge(seen->model, &cell, &reason, &way.path) == CS_PATH_VALID)
                assert_ok(cs_coverage_add(seen, &way));
        }
}

static void a_new_driver_method_and_loader_fail_the_floor_until_they_are_used(void **state) {
    (void)state;
    add_every_pair(&coverage);
    struct cs_cells before = pairs_of(&coverage);
    assert_int_equal(before.n_hit, before.n_valid);

    static const char *const loaders[] = {"of_tomorrow", NULL};
    const struct cs_loader loader = {.name = "of_tomorrow"};
    const struct cs_method method = {.name = "of_tomorrow", .loaders = loaders};
    struct cs_backend backend = {.method = "of_tomorrow", .name = "triton", .steps = cs_backends[0].steps};
    struct cs_driver driver = *cs_driver_by_name("layerwise");
    driver.name = "of_tomorrow";
    struct cs_coverage_registries wider = cs_coverage_own_registries();
    const void *rows[4][256];
    memcpy(rows[0], wider.loaders, wider.n_loaders * sizeof *rows[0]), rows[0][wider.n_loaders++] = &loader;
    memcpy(rows[1], wider.methods, wider.n_methods * sizeof *rows[1]), rows[1][wider.n_methods++] = &method;
    memcpy(rows[2], wider.drivers, wider.n_drivers * sizeof *rows[2]), rows[2][wider.n_drivers++] = &driver;
    struct cs_backend *backends = CS_NEW_ARRAY(&arena, struct cs_backend, wider.n_backends + 1);
    for (size_t i = 0; i < wider.n_backends; i++) memcpy(&backends[i], &wider.backends[i], sizeof backend);
    memcpy(&backends[wider.n_backends++], &backend, sizeof backend);
    assert_non_null(backend.steps);
    wider.loaders = (const struct cs_loader *const *)rows[0], wider.methods = (const struct cs_method *const *)rows[1];
    wider.drivers = (const struct cs_driver *const *)rows[2], wider.backends = backends;

    /* The file of yesterday's runs, read by a program that knows more. */
    assert_ok(cs_coverage_write("old.json", &coverage));
    struct cs_coverage_model tomorrow;
    struct cs_coverage seen;
    assert_ok(cs_coverage_model(&tomorrow, &wider, &arena));
    cs_coverage_init(&seen, &tomorrow, &arena);
    assert_ok(cs_coverage_read("old.json", &seen));
    struct cs_cells after = pairs_of(&seen);
    assert_int_equal(after.n_hit, before.n_hit);
    assert_true(after.n_valid > before.n_valid + 20); /* the floor is 100 % of pairs: missed */
    for (size_t c = 0; c < after.n_crosses; c++)
        for (size_t i = 0; i < after.crosses[c].n_cells; i++) {
            struct cs_way cell;
            char text[CS_CELL_TEXT];
            cs_cross_cell(&tomorrow, &after.crosses[c], i, &cell);
            bool is_new = strstr(cs_cell_text(&tomorrow, &cell, text), "of_tomorrow") != NULL;
            if (after.crosses[c].state[i] == CS_PATH_VALID) assert_int_equal(after.crosses[c].hits[i] == 0, is_new);
        }
    add_every_pair(&seen);
    after = pairs_of(&seen);
    assert_int_equal(after.n_hit, after.n_valid);
}

/* ---- files ---- */

static void files_join_by_names_and_add_up(void **state) {
    (void)state;
    add_every_pair(&coverage);
    coverage.n_runs = 3, coverage.probes[CS_LOAD_PROBE_post_load] = 4;
    assert_ok(cs_coverage_add_sequence(&coverage, "cold_start direct", 5));
    assert_ok(cs_coverage_write("a.json", &coverage));
    struct cs_coverage twice;
    cs_coverage_init(&twice, &model, &arena);
    assert_ok(cs_coverage_read("a.json", &twice));
    assert_ok(cs_coverage_read("a.json", &twice));
    assert_int_equal(twice.n_paths, coverage.n_paths);
    assert_int_equal(twice.n_runs, 6);
    assert_int_equal(twice.probes[CS_LOAD_PROBE_post_load], 8);
    assert_int_equal(twice.sequences[0].n, 10);
    for (size_t i = 0; i < twice.n_paths; i++)
        assert_int_equal(twice.paths[i].accepted, 2 * coverage.paths[i].accepted);
}

static void what_is_no_coverage_file_is_refused(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"{", "bad.json:1:"},
        {"{\"coverage\": 2}", "version 2, expected 1"},
        {"{\"coverage\": 1.5}", "\"coverage\", the version, is no whole number, expected 1"},
        {"{}", "\"coverage\", the version, is missing, expected 1"},
        {"{\"coverage\": 1, \"axes\": []}", "\"axes\" has 0 axes, expected 9"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        write_text("bad.json", rows[i][0]);
        assert_int_equal(cs_coverage_read("bad.json", &coverage), CS_BAD_FILE);
        assert_says(cs_error_text(), rows[i][1]);
    }
    assert_int_equal(cs_coverage_read("none.json", &coverage), CS_BAD_FILE);
    assert_string_equal(cs_error_text(), "cannot read \"none.json\": No such file or directory: give a file that `run --coverage` or `coverage --json` wrote");
    assert_int_equal(cs_coverage_read(".", &coverage), CS_BAD_FILE);
    assert_string_equal(cs_error_text(), "cannot read \".\": Is a directory: give a file that `run --coverage` or `coverage --json` wrote");
}

/* A right file, in which one text is replaced by a wrong one. */
static void a_damaged_file_is_refused(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"\"runs\":3", "\"runs\":-5", "\"runs\" is -5, expected a number from 0 to"},
        {"\"runs\":3", "\"runs\":9223372036854775807", "\"runs\" is 9223372036854775807, expected a number from 0 to"},
        {"\"cold_start direct\":5", "\"cold_start direct\":-1", "a count of \"sequences\" is -1, expected a number from 0 to"},
        {"\"cold_start direct\":5", "\"cold_start direct\":\"x\"", "a count of \"sequences\" is no whole number"},
        {"\"post_load\":4", "\"post_load\":-4", "probe \"post_load\" is -4, expected a number from 0 to"},
        {"\"paths\":[[", "\"paths\":{},\"x\":[[", "\"paths\" is no list"},
        {"\"paths\":[[", "\"paths\":[[],[", "path 0: no row of 9 values, two counts and a scenario"},
        {"\"paths\":[[", "\"paths\":[[0,", "path 0: no row of 9 values, two counts and a scenario"},
        {"\"paths\":[[1,", "\"paths\":[[99,", "path 0, axis 0: 99, expected a number from 0 to below "},
        {"\"paths\":[[1,", "\"paths\":[[\"x\",", "path 0, axis 0: no whole number, expected one below "},
        {"\"sequences\":{", "\"sequences\":[],\"x\":{", "\"sequences\" is no object"},
        {"\"probes\":{", "\"probes\":\"x\",\"x\":{", "\"probes\" is no object"},
    };
    add_every_pair(&coverage);
    coverage.n_runs = 3, coverage.probes[CS_LOAD_PROBE_post_load] = 4;
    assert_ok(cs_coverage_add_sequence(&coverage, "cold_start direct", 5));
    assert_ok(cs_coverage_write("right.json", &coverage));
    static char right[1 << 22];
    FILE *in = fopen("right.json", "r");
    assert_non_null(in);
    right[fread(right, 1, sizeof right - 1, in)] = 0;
    fclose(in);
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        char *at = strstr(right, rows[i][0]);
        assert_non_null(at);
        FILE *out = fopen("bad.json", "w");
        fprintf(out, "%.*s%s%s", (int)(at - right), right, rows[i][1], at + strlen(rows[i][0]));
        fclose(out);
        assert_int_equal(cs_coverage_read("bad.json", &coverage), CS_BAD_FILE);
        assert_says(cs_error_text(), rows[i][2]);
    }
}

static void a_lost_cell_is_a_difference(void **state) {
    (void)state;
    struct cs_coverage old;
    struct cs_seen_path seen = {.accepted = 1, .scenario = "s"};
    struct cs_way cell = cell_of("driver=direct,policy=none");
    const char *reason;
    assert_int_equal(cs_cell_judge(&model, &cell, &reason, &seen.path), CS_PATH_VALID);
    cs_coverage_init(&old, &model, &arena);
    assert_ok(cs_coverage_add(&old, &seen));
    old.probes[CS_LOAD_PROBE_slept_1] = 1;
    int64_t n_lost;
    FILE *out = fopen("diff.txt", "w+");
    assert_ok(cs_coverage_diff(out, &old, &coverage, &n_lost));
    assert_int_equal(n_lost, 36 + 1); /* pairs of nine axes, and a probe */
    assert_ok(cs_coverage_diff(out, &coverage, &old, &n_lost));
    assert_int_equal(n_lost, 0);
    fclose(out);
}

/* ---- files that hit a cell ---- */

/* Of every valid pair: the file can be read, and its path is the one that was asked for. */
static void every_valid_pair_has_a_file_that_hits_it(void **state) {
    (void)state;
    struct cs_cells cells = pairs_of(&coverage);
    size_t n = 0;
    for (size_t c = 0; c < cells.n_crosses; c++)
        for (size_t i = 0; i < cells.crosses[c].n_cells; i++) {
            struct cs_arena scratch = {0};
            struct cs_scenario scenario;
            struct cs_way cell, way, found;
            char text[CS_CELL_TEXT];
            cs_cross_cell(&model, &cells.crosses[c], i, &cell);
            if (cells.crosses[c].state[i] != CS_PATH_VALID) continue;
            assert_true(cs_coverage_complete(&coverage, NULL, NULL, &cell, 1, &way));
            write_text("hit.lua", cs_path_lua(&model, &way, "hit", &scratch));
            if (cs_script_load("hit.lua", &scratch, &scenario) != CS_OK)
                fail_msg("%s: %s", cs_cell_text(&model, &way, text), cs_error_text());
            bool is_there = false;
            for (size_t op = 0; op < scenario.n_ops && !is_there; op++)
                is_there = cs_coverage_path(&model, &scenario, op, scenario.policies[0],
                                            model.axis[CS_PATH_device].values[way.value[CS_PATH_device]], &found) &&
                           memcmp(&found, &way, sizeof way) == 0;
            if (!is_there) fail_msg("%s: not in its file", cs_cell_text(&model, &way, text));
            cs_arena_release(&scratch);
            n++;
        }
    assert_true(n > 1000);
}

/* ---- the program ---- */

static const char direct_ref[] =
    "coverage --hit method=gpt_oss_mxfp4,backend=flashinfer_trtllm,driver=direct,before=cold,sharding=tp1,"
    "policy=none,arrival=in_order,loader=gpt_oss_combined,device=ref";

static void the_program_takes_what_it_is_asked_for(void **state) {
    (void)state;
    char arguments[512];
    snprintf(arguments, sizeof arguments, "%s --json a.json --markdown a.md --html a.html", direct_ref);
    coldstart(arguments);
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.out, "hit     loader=gpt_oss_combined,method=gpt_oss_mxfp4");
    assert_says(outcome.out, "1 runs, 2 ways of loading\n");
    assert_says(outcome.out, "never: slept_2");
    coldstart("coverage a.json a.json --check pairs");
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.out, "2 runs, 2 ways of loading\n");
    assert_says(outcome.out, "(least: 100 %): too few");
    assert_says(outcome.out, "(not asked for: 95 %);"); /* only pairs were */
    assert_says(outcome.out, "coldstart coverage --hit order=cold_start+sleep\n");
    coldstart("coverage a.json --check all");
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.out, "(least: 95 %): too few");
    coldstart("coverage diff a.json a.json");
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.out, "0 newly hit, 0 lost\n");
    snprintf(arguments, sizeof arguments, "%s --lua >a.lua", direct_ref);
    coldstart(arguments);
    coldstart("run a.lua -q --coverage b.json");
    assert_int_equal(outcome.status, 0);
    coldstart("coverage diff a.json b.json");
    assert_int_equal(outcome.status, 0);
    write_toy("toy.lua", "toy", "", "cs.equal()");
    coldstart("run toy.lua -q --coverage toy.json");
    assert_int_equal(outcome.status, 0);
    coldstart("coverage diff a.json toy.json");
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.out, "- driver=direct,policy=none\n");
}

static void mistakes_of_the_command_line_are_named(void **state) {
    (void)state;
    assert_refused("coverage", 2, "name coverage files");
    assert_refused("coverage none.json", 2, "cannot read \"none.json\": No such file or directory");
    assert_refused("coverage .", 2, "cannot read \".\": Is a directory");
    assert_refused("coverage diff a.json", 2, "two coverage files");
    assert_refused("coverage --next 0", 2, "--next wants a number from 1 to");
    assert_refused("coverage --next pears", 2, "\"all\" or \"illegal\", found \"pears\"");
    assert_refused("coverage --next 1 --check some", 2, "unknown --check \"some\"");
    assert_refused("coverage --hit driver=direct,before=nothing", 2, "illegal: a reload needs a running server");
    assert_refused("coverage --hit driver=direct --seed x", 2, "seed");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_coverage, close_coverage)
    const struct CMUnitTest tests[] = {
        TEST(states_of_cells_are_as_declared),
        TEST(slips_of_the_pen_are_named),
        TEST(every_load_of_a_plan_is_a_path),
        TEST(only_loads_that_ran_are_noted),
        TEST(an_accepted_illegal_load_is_a_fault),
        TEST(a_new_driver_method_and_loader_fail_the_floor_until_they_are_used),
        TEST(files_join_by_names_and_add_up),
        TEST(what_is_no_coverage_file_is_refused),
        TEST(a_damaged_file_is_refused),
        TEST(a_lost_cell_is_a_difference),
        TEST(every_valid_pair_has_a_file_that_hits_it),
        TEST(the_program_takes_what_it_is_asked_for),
        TEST(mistakes_of_the_command_line_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
