/* Coverage that finds ways by itself: completions that hit much, refusals that hit only where they are declared, orders
 * of operations and chains that have them, and illegal pairs, each of which must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "coverage/model.h"
#include "sim/coverage/coverage.h"
#include "sim/script/script.h"
#include "tests/support_cli.h"
#include "tests/support_coverage.h"

static struct cs_cells cells_of(size_t n_axes) {
    struct cs_cells cells;
    assert_ok(cs_cells_count(&coverage, n_axes, &arena, &cells));
    return cells;
}

/* ---- refusals ---- */

static const char way_of_driver[] = "loader=per_expert_awq,method=awq,backend=marlin,driver=%s,before=%s,sharding=tp1,"
                                    "policy=none,arrival=%s,device=ref";

static struct cs_seen_path refused(const char *driver, const char *before, const char *arrival) {
    char text[CS_CELL_TEXT];
    snprintf(text, sizeof text, way_of_driver, driver, before, arrival);
    return (struct cs_seen_path){.path = cell_of(text), .refused = 3, .scenario = "s"};
}

static void a_refusal_hits_only_where_it_is_declared(void **state) {
    (void)state;
    const struct {
        struct cs_seen_path seen;
        bool is_declared;
    } rows[] = {
        {refused("raw", "cold", "in_order"), true},
        {refused("raw_post_load", "reloaded", "pieces"), true},
        {refused("direct_unprocessed", "cold", "in_order"), true},
        {refused("layerwise", "waiting", "in_order"), true},
        {refused("layerwise", "cold", "in_order"), false},
        {refused("direct", "cold", "reversed"), false},
        {refused("cold_start", "nothing", "in_order"), false},
    };
    const struct cs_seen_path *first;
    int64_t n_undeclared = 0, n_hit = 0;
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        assert_int_equal(cs_path_refusal(&model, &rows[i].seen.path) != NULL, rows[i].is_declared);
        assert_ok(cs_coverage_add(&coverage, &rows[i].seen));
        n_undeclared += !rows[i].is_declared;
        assert_int_equal(cs_coverage_undeclared(&coverage, &first), n_undeclared);
        struct cs_cells pairs = cells_of(2);
        if (!rows[i].is_declared) assert_int_equal(pairs.n_hit, n_hit);
        n_hit = pairs.n_hit;
        assert_int_equal(pairs.n_refused, n_hit); /* none ran to its end */
    }
    assert_true(n_hit > 36);
    assert_string_equal(first->scenario, "s");
    /* It ran at last: no longer undeclared, and hit. */
    struct cs_seen_path ran = refused("layerwise", "cold", "in_order");
    ran.refused = 0, ran.accepted = 1;
    assert_ok(cs_coverage_add(&coverage, &ran));
    assert_int_equal(cs_coverage_undeclared(&coverage, &first), n_undeclared - 1);
    assert_int_equal(cells_of(2).n_hit - cells_of(2).n_refused, 36);
}

/* What nobody simulates was not refused by anybody. */
static void what_is_not_simulated_is_no_refusal(void **state) {
    (void)state;
    struct cs_op ops[] = {{.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = "A"},
                          {.kind = CS_OP_RELOAD, .driver = "raw", .checkpoint = "A"}};
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.n_ops = 2, scenario.ops = ops;
    struct cs_verdict verdict = {
        .scenario = &scenario, .policy = "none", .device = "ref", .n_accepted = 1, .n_refused = 1};
    verdict.is_unsupported = true;
    assert_ok(cs_coverage_note(&coverage, &scenario, &verdict));
    assert_int_equal(coverage.n_paths, 1);
    verdict.is_unsupported = false;
    assert_ok(cs_coverage_note(&coverage, &scenario, &verdict));
    assert_int_equal(coverage.n_paths, 2);
}

/* A load that was stopped after the last tensor that a layer needs has left nothing that waits, and is no illegal way
 * for a direct load to follow: what came of it counts. */
static void whether_a_layer_waits_is_what_came_of_the_load(void **state) {
    (void)state;
    struct cs_op ops[] = {{.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = "A"},
                          {.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "B", .is_stopped = true, .stop_after = 2},
                          {.kind = CS_OP_RELOAD, .driver = "direct", .checkpoint = "A"}};
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.n_ops = 3, scenario.ops = ops;
    struct cs_verdict verdict = {.scenario = &scenario, .policy = "none", .device = "ref", .n_accepted = 3};
    const struct cs_seen_path *first;
    assert_ok(cs_coverage_note(&coverage, &scenario, &verdict));
    assert_int_equal(coverage.paths[2].path.value[CS_PATH_before], cell_of("before=reloaded").value[CS_PATH_before]);
    assert_int_equal(cs_coverage_faults(&coverage, &first), 0);
    verdict.waiting = 1 << 1;
    assert_ok(cs_coverage_note(&coverage, &scenario, &verdict));
    assert_int_equal(coverage.paths[3].path.value[CS_PATH_before], cell_of("before=waiting").value[CS_PATH_before]);
    assert_int_equal(cs_coverage_faults(&coverage, &first), 1);
}

/* ---- completions ---- */

/* By hand: a way that shares no value with those before hits all 36 pairs and 84 triples of nine axes. */
static void a_completion_hits_what_was_never_hit(void **state) {
    (void)state;
    struct cs_cells pairs = cells_of(2), triples = cells_of(3);
    struct cs_way cell = cell_of("driver=layerwise"), path;
    assert_true(cs_coverage_complete(&coverage, &pairs, &triples, &cell, 1, &path));
    assert_ok(cs_coverage_add(&coverage, &(struct cs_seen_path){.path = path, .accepted = 1, .scenario = "s"}));
    assert_int_equal(cells_of(2).n_hit, 36);
    assert_int_equal(cells_of(3).n_hit, 84);
    pairs = cells_of(2), triples = cells_of(3);
    struct cs_way second;
    assert_true(cs_coverage_complete(&coverage, &pairs, &triples, &cell, 1, &second));
    size_t n_equal = 0;
    for (int a = 0; a < CS_N_PATH_AXES; a++) n_equal += path.value[a] == second.value[a];
    assert_int_equal(n_equal, 1); /* the driver: every other axis has another value left */
    assert_false(cs_coverage_complete(&coverage, &pairs, &triples,
                                      (struct cs_way[]){cell_of("driver=direct,before=nothing")}, 1, &path));
}

static void completions_do_not_depend_on_anything_but_the_seed(void **state) {
    (void)state;
    struct cs_cells pairs = cells_of(2), triples = cells_of(3);
    struct cs_way cell = cell_of("policy=none"), path[3];
    for (int i = 0; i < 3; i++)
        assert_true(cs_coverage_complete(&coverage, &pairs, &triples, &cell, i == 2 ? 8 : 7, &path[i]));
    assert_memory_equal(&path[0], &path[1], sizeof path[0]);
    assert_memory_not_equal(&path[0], &path[2], sizeof path[0]);
}

/* ---- orders ---- */

static struct cs_orders orders[CS_ORDER_MOST + 1];

static void count_orders(void) {
    for (size_t n = 1; n <= CS_ORDER_MOST; n++) assert_ok(cs_orders_count(&coverage, n, &arena, &orders[n]));
}

/* cold_start layerwise direct: three pairs in order, one triple. */
static void orders_need_not_be_side_by_side(void **state) {
    (void)state;
    assert_ok(cs_coverage_add_sequence(&coverage, "cold_start layerwise direct", 1));
    count_orders();
    assert_int_equal(orders[2].n_seen, 3);
    assert_int_equal(orders[3].n_seen, 1);
    /* Three starts, then sleep or one of eight reloads. The two in-place ones never follow meta_build. */
    size_t n_starts = 3, n_reloads = 9, n_direct = 2;
    assert_int_equal(orders[2].n_letters, n_starts + n_reloads);
    assert_int_equal(orders[2].n_possible, (n_starts + n_reloads) * n_reloads - n_direct);
    size_t after_meta = n_reloads - n_direct;
    assert_int_equal(orders[3].n_possible,
                     (n_starts - 1 + n_reloads) * n_reloads * n_reloads + after_meta * after_meta);
}

static void orders_are_read_and_slips_named(void **state) {
    (void)state;
    static const char *const slips[][2] = {
        {"cold_start+layerwize", "no operation is named \"layerwize\"; did you mean layerwise"},
        {"cold_start+raw+raw+raw", "at most 3 operations"},
        {"layerwise", "an order is OPERATION+OPERATION"},
        {"", "an order is OPERATION+OPERATION"},
        {"layerwise+cold_start", "cold_start cannot come after layerwise: a server starts once"},
        {"meta_build+raw+direct", "direct cannot come after meta_build"},
    };
    size_t letters[CS_ORDER_MOST], n;
    char text[CS_CHAIN_TEXT];
    count_orders();
    assert_ok(cs_order_parse(&model, &orders[1], "cold_start+sleep+direct", letters, &n));
    assert_int_equal(n, 3);
    size_t index = (letters[0] * orders[3].n_letters + letters[1]) * orders[3].n_letters + letters[2];
    assert_string_equal(cs_order_text(&orders[3], index, text), "cold_start+sleep+direct");
    for (size_t i = 0; i < CS_COUNT(slips); i++) {
        assert_int_equal(cs_order_parse(&model, &orders[1], slips[i][0], letters, &n), CS_BAD_VALUE);
        assert_says(cs_error_text(), slips[i][1]);
    }
}

static bool has_order(const struct cs_chain *chain, const size_t *order, size_t n) {
    size_t found = 0;
    for (size_t i = 0; i < chain->n && found < n; i++) found += chain->letter[i] == order[found];
    return found == n;
}

/* Every possible order has a chain, short or long, that a script can be read from; a long one brings more. */
static void every_order_has_a_chain(void **state) {
    (void)state;
    count_orders();
    for (size_t n = 2; n <= CS_ORDER_MOST; n++)
        for (size_t i = 0, all = orders[n].n_letters * orders[n].n_letters * (n == 3 ? orders[n].n_letters : 1);
             i < all; i++) {
            struct cs_arena scratch = {0};
            struct cs_chain chain;
            struct cs_scenario scenario;
            size_t letters[CS_ORDER_MOST];
            char text[CS_CHAIN_TEXT];
            if (!orders[n].possible[i]) continue;
            cs_order_letters(&orders[n], i, letters);
            bool is_long = i % 2;
            assert_ok(cs_orders_chain(&model, orders, letters, n, is_long, &chain));
            if (!has_order(&chain, letters, n)) fail_msg("%s is not in its chain", cs_order_text(&orders[n], i, text));
            assert_true(chain.n <= (is_long ? CS_CHAIN_MOST : 2 * n + 1));
            write_text("order.lua", cs_chain_lua(&model, &orders[n], &chain, "order", &scratch));
            if (cs_script_load("order.lua", &scratch, &scenario) != CS_OK)
                fail_msg("%s: %s", cs_chain_text(&orders[n], &chain, text), cs_error_text());
            cs_arena_release(&scratch);
        }
}

/* ---- the program ---- */

/* Of what the program printed, which is more than an outcome holds. */
static size_t n_lines_with(const char *start) {
    char line[2048];
    size_t n = 0;
    FILE *in = fopen("printed.txt", "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) n += strncmp(line, start, strlen(start)) == 0;
    fclose(in);
    return n;
}

static void write_ways(const char *file, struct cs_seen_path *ways, size_t n) {
    for (size_t i = 0; i < n; i++) assert_ok(cs_coverage_add(&coverage, &ways[i]));
    assert_ok(cs_coverage_write(file, &coverage));
}

/* Whoever only looks at the numbers still reads what is wrong, and where. */
static void the_summary_names_what_is_wrong(void **state) {
    (void)state;
    struct cs_seen_path ways[] = {refused("layerwise", "cold", "in_order"), refused("direct", "waiting", "in_order")};
    ways[0].scenario = "was.refused", ways[1].scenario = "was.accepted";
    ways[1].accepted = 1;
    write_ways("wrong.json", ways, 2);
    coldstart("coverage wrong.json --check pairs");
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.out, "1 illegal ways of loading were accepted, such as loader=per_expert_awq,method=awq");
    assert_says(outcome.out, "arrival=in_order,device=ref in was.accepted\n");
    assert_says(outcome.out, "1 ways of loading were only refused, and hit nothing, since coverage/model.h does not declare");
    assert_says(outcome.out, "arrival=in_order,device=ref in was.refused\n");
    assert_says(outcome.out, "failed: --check pairs: ");
    assert_null(strstr(outcome.out, "left out"));
    coldstart("coverage wrong.json >out.txt; sed -i 's/per_expert_awq/of_yesterday/' wrong.json");
    coldstart("coverage wrong.json");
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.out, "2 ways of loading left out: this program knows no such method, loader or driver\n");
}

static void files_that_cannot_be_used_are_named(void **state) {
    (void)state;
    write_ways("one.json", (struct cs_seen_path[]){refused("raw", "cold", "in_order")}, 1);
    write_text("bad.json", "{ \"mutants\": ");
    assert_refused("coverage one.json --html one.html --kill-matrix none.json", 2, "cannot read \"none.json\"");
    assert_refused("coverage one.json --html one.html --kill-matrix bad.json", 2, "bad.json:1: ");
    assert_refused("coverage one.json --html one.html --kill-matrix one.json", 2, "one.json: no kill matrix: give the file");
    assert_refused("coverage one.json --kill-matrix one.json", 2, "--kill-matrix goes with --html: give both");
    assert_refused("coverage one.json --lua", 2, "--lua goes with --hit: give both");
    assert_refused("coverage --hit driver=direct --lua --next 1", 2, "--lua prints the file of --hit");
    assert_refused("coverage --hit driver=direct,driver=raw", 2, "axis driver is given twice");
    assert_refused("coverage --hit ''", 2, "a cell is AXIS=VALUE,AXIS=VALUE");
    assert_refused("coverage none.json", 2, "cannot read \"none.json\": No such file or directory");
    assert_refused("coverage one.json --html one.html --previous bad.json", 2, "bad.json:1: ");
    assert_refused("coverage one.json --html no/such/one.html", 2, "no/such/one.html");
    assert_refused("coverage --next 1 --output-dir one.json", 2, "one.json");
}

static void files_are_kept_where_asked_and_nowhere_else(void **state) {
    (void)state;
    assert_int_equal(setenv("TMPDIR", "/no/such/folder", 1), 0);
    coldstart("coverage --next 1");
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(access("1.lua", F_OK), -1);
    coldstart("coverage --next 2 --output-dir kept");
    assert_int_equal(outcome.status, 0);
    coldstart("run kept/1.lua kept/2.lua -q");
    assert_says(outcome.out, "coverage.2");
}

static void every_possible_order_is_run(void **state) {
    (void)state;
    coldstart("coverage --next orders --json orders.json >printed.txt");
    assert_int_equal(outcome.status, 0);
    assert_int_equal(n_lines_with("MISSED"), 0);
    assert_true(n_lines_with("hit     order=") < 80);
    assert_ok(cs_coverage_read("orders.json", &coverage));
    count_orders();
    assert_int_equal(orders[2].n_seen, orders[2].n_possible);
    assert_int_equal(orders[3].n_seen, orders[3].n_possible);
}

static void one_order_is_run_or_printed(void **state) {
    (void)state;
    coldstart("coverage --hit order=meta_build+sleep+raw --json one.json");
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.out, "hit     order=meta_build+sleep+raw\n");
    coldstart("coverage --hit order=meta_build+sleep+raw --lua >one.lua");
    coldstart("run one.lua -q --coverage two.json");
    assert_int_equal(outcome.status, 0);
    assert_ok(cs_coverage_read("two.json", &coverage));
    assert_string_equal(coverage.sequences[0].text, "meta_build sleep raw");
    assert_refused("coverage --hit order=raw+dummy_start", 2, "dummy_start cannot come after raw");
}

/* The rule behind those that are no possible ones: the engine refuses them. */
static void nothing_in_place_follows_a_build_on_meta(void **state) {
    (void)state;
    coldstart("coverage --hit order=meta_build+layerwise --lua >meta.lua");
    coldstart("run meta.lua -q");
    assert_int_equal(outcome.status, 0);
    coldstart("coverage --hit order=meta_build+layerwise --lua | sed '/driver = \"layerwise\"/{p;s/layerwise/direct/}' "
              ">meta.lua");
    coldstart("run meta.lua -q");
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.out, "no checkpoint layout to load into");
}

/* One run for each: the script is refused, or the load. */
static void every_illegal_pair_is_refused(void **state) {
    (void)state;
    struct cs_cells pairs = cells_of(2);
    coldstart("coverage --next illegal >printed.txt");
    assert_int_equal(outcome.status, 0);
    assert_int_equal(n_lines_with("refused  "), pairs.n_illegal);
    assert_true(pairs.n_illegal > 1000);
    static const char *const some[] = {
        "refused  driver=direct,before=nothing: ", "refused  driver=cold_start,before=cold: ",
        "refused  loader=per_expert,arrival=unknown: ", "refused  driver=direct,before=waiting: ",
        "refused  method=awq,backend=triton: "};
    for (size_t i = 0; i < CS_COUNT(some); i++) assert_int_equal(n_lines_with(some[i]), 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_coverage, close_coverage)
    const struct CMUnitTest tests[] = {
        TEST(a_refusal_hits_only_where_it_is_declared),
        TEST(what_is_not_simulated_is_no_refusal),
        TEST(whether_a_layer_waits_is_what_came_of_the_load),
        TEST(a_completion_hits_what_was_never_hit),
        TEST(completions_do_not_depend_on_anything_but_the_seed),
        TEST(orders_need_not_be_side_by_side),
        TEST(orders_are_read_and_slips_named),
        TEST(every_order_has_a_chain),
        TEST(the_summary_names_what_is_wrong),
        TEST(files_that_cannot_be_used_are_named),
        TEST(files_are_kept_where_asked_and_nowhere_else),
        TEST(every_possible_order_is_run),
        TEST(one_order_is_run_or_printed),
        TEST(nothing_in_place_follows_a_build_on_meta),
        TEST(every_illegal_pair_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
