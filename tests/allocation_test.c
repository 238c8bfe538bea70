/* Memory runs out (tests/support_memory.h) in audits, scripts and verbs: at every single place, for every kind of each. */
#include <setjmp.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <omp.h>

#include "sim/cli/cli.h"
#include "sim/report/report.h"
#include "sim/script/script.h"
#include "tests/support_cli.h"
#include "tests/support_memory.h"
#include "tests/support_script.h"
#include "tests/support_session.h"

/* ---- audits ---- */

static enum cs_status audit(const struct work *work, struct cs_arena *arena, char *result) {
    struct cs_verdict verdict;
    struct cs_recording all = {.arena = arena}, cold = {.arena = arena};
    const struct cs_audit_options options = {.device = cs_device_by_name(work->device ? work->device : "ref"),
                                             .policy = work->policy,
                                             .seed = 1,
                                             .recording = work->is_recorded ? &all : NULL,
                                             .recording_cold = work->is_recorded ? &cold : NULL};
    CS_TRY(cs_audit_scenario(work->scenario, &options, arena, &verdict));
    int length = snprintf(result, RESULT, "%s %s %d", cs_verdict_status_name(verdict.status), verdict.reason ? verdict.reason : "-", verdict.first.exists);
    for (size_t i = 0; i < all.n; i++) length += snprintf(result + length, (size_t)(RESULT - length), " %04" PRIx64, all.digests[i] & 0xFFFF);
    for (size_t i = 0; i < CS_N_COUNTS; i++) length += snprintf(result + length, (size_t)(RESULT - length), " %" PRId64, verdict.count[i]);
    return CS_OK;
}

static struct cs_expected expected[1];
static struct cs_op plan[3];

/* Cold start of A, a reload of B, equal(). */
static void write_plan(struct cs_scenario *scenario, const char *driver) {
    plan[0] = (struct cs_op){.kind = CS_OP_COLD_START, .line = 2, .driver = "cold_start", .checkpoint = "A"};
    plan[1] = (struct cs_op){.kind = CS_OP_RELOAD, .line = 3, .driver = driver, .checkpoint = "B"};
    plan[2] = (struct cs_op){.kind = CS_OP_EXPECT, .line = 4, .n_expected = 1, .expected = expected};
    expected[0] = (struct cs_expected){.is_equal = true};
    scenario->n_ops = 3, scenario->ops = plan;
}

static void audits_of_experts(void **state) {
    (void)state;
    static const char *const drivers[] = {"layerwise", "direct"}, *const policies[] = {"none", "zero_in_loader", "record_and_fill"};
    struct cs_scenario scenario = gpt_oss_scenario();
    scenario.model.experts = 1;
    for (size_t d = 0; d < CS_COUNT(drivers); d++)
        for (size_t p = 0; p < CS_COUNT(policies); p++) {
            write_plan(&scenario, drivers[d]);
            every_request_may_fail(&(struct work){audit, &scenario, .policy = policies[p]});
        }
}

/* Where the device has buffers of its own, and where the load is refused. */
static void audits_by_kernels_and_of_refused_loads(void **state) {
    (void)state;
    struct cs_scenario scenario = gpt_oss_scenario();
    write_plan(&scenario, "direct");
    every_request_may_fail(&(struct work){audit, &scenario, .policy = "record_and_fill", .device = "emu"});
    plan[1].driver = "layerwise";
    static const struct cs_template_tensor tensors[] = {{.name = "weight", .shape = "8", .kind = CS_PARAMETER, .dtype = CS_F32, .init = CS_INIT_ZEROS}};
    static const double one[] = {1.0};
    static const struct cs_toy_call calls[] = {{.param = "weight", .has_write = true, .write = {{0}, {8}}, .n_values = 1, .values = one}};
    static const struct cs_toy_load loads[] = {{"A", 1, calls}, {"B", 1, calls}};
    static const size_t order[] = {7}; /* there is no eighth tensor: the load is refused */
    static const char *const policies[] = {"none"};
    scenario = toy_scenario(tensors, CS_COUNT(tensors), loads, CS_COUNT(loads));
    scenario.n_policies = 1, scenario.policies = policies;
    write_plan(&scenario, "layerwise");
    plan[1].n_order = 1, plan[1].order = order;
    static const struct cs_expected wanted[] = {{.is_equal = true}, {.is_refused = true, .refusal = "order"}, {.is_refused = true, .refusal = "another reason"}};
    for (size_t i = 0; i < CS_COUNT(wanted); i++) {
        expected[0] = wanted[i];
        every_request_may_fail(&(struct work){audit, &scenario, .policy = "none"});
    }
}

/* What is wrong with them has to be said even when little memory is left: a toy whose cold start is undetermined, one that warns, and
 * one that differs in the values that it must have. */
static void audits_of_toys(void **state) {
    (void)state;
    static const struct cs_template_tensor tensors[] = {
        {.name = "weight", .shape = "8", .kind = CS_PARAMETER, .dtype = CS_F32, .init = CS_INIT_ONES},
        {.name = "loose", .shape = "8", .kind = CS_PARAMETER, .dtype = CS_F32, .init = CS_INIT_EMPTY, .is_unregistered = true},
    };
    static const double one[] = {1.0}, seven[] = {7.0};
    static const struct cs_toy_box marks[] = {{{4}, {4}}};
    static const struct cs_toy_call first[] = {{.param = "weight", .has_write = true, .write = {{0}, {4}}, .n_values = 1, .values = one, .n_marks = 1, .marks = marks},
                                               {.param = "loose", .has_write = true, .write = {{0}, {4}}, .n_values = 1, .values = one, .n_marks = 1, .marks = marks}},
                                    second[] = {{.param = "weight", .has_write = true, .write = {{0}, {4}}, .n_values = 1, .values = seven, .n_marks = 1, .marks = marks}};
    static const struct cs_toy_load loads[] = {{"A", 2, first}, {"B", 1, second}};
    static const double values[] = {7, 7, 7, 7, 1, 1, 1, 2};
    static const struct cs_expected_values wanted[] = {{"weight", 8, values}};
    struct cs_scenario scenario = toy_scenario(tensors, CS_COUNT(tensors), loads, CS_COUNT(loads));
    static const char *const policies[] = {"none", "zero_materialized", "record_and_fill"};
    for (size_t p = 0; p < CS_COUNT(policies); p++) {
        write_plan(&scenario, "layerwise");
        every_request_may_fail(&(struct work){audit, &scenario, .policy = policies[p]});
        expected[0] = (struct cs_expected){.n_values = 1, .values = wanted};
        every_request_may_fail(&(struct work){audit, &scenario, .policy = policies[p]});
    }
}

static void audits_with_undetermined_cold_starts(void **state) {
    (void)state;
    static const struct cs_template_tensor tensors[] = {{.name = "weight", .shape = "8", .kind = CS_PARAMETER, .dtype = CS_F32, .init = CS_INIT_EMPTY}};
    static const double one[] = {1.0};
    static const struct cs_toy_call calls[] = {{.param = "weight", .has_write = true, .write = {{0}, {4}}, .n_values = 1, .values = one}};
    static const struct cs_toy_load loads[] = {{"A", 1, calls}, {"B", 1, calls}};
    struct cs_scenario scenario = toy_scenario(tensors, CS_COUNT(tensors), loads, CS_COUNT(loads));
    scenario.allocator = (struct cs_allocator_rule){.fresh_cold = {.kind = CS_PATTERN_RANDOM}, .fresh_reload = {.kind = CS_PATTERN_RANDOM}};
    write_plan(&scenario, "direct");
    static char result[RESULT];
    assert_ok(run_with(&(struct work){audit, &scenario, .policy = "none"}, 0, result));
    assert_says(result, "failed cold_undetermined: toy.weight");
    every_request_may_fail(&(struct work){audit, &scenario, .policy = "none"});
}

/* What scripts alone ask for: laws, declared differences, values of captured graphs, digests that are kept. Models are as small as can be. */
#define SMALL "local models = require 'models.qwen3' return cs.scenario { name = 'small', checkpoints = { A = cs.synthetic(), B = cs.perturbed 'A' }, model = models.qwen3_30b_a3b { layers = 1, experts = 1, "
#define START "run = function(s) s:cold_start 'A' "
static const struct {
    const char *text, *policy;
    bool is_recorded;
} small_scripts[] = {
    {SMALL "hidden = 224, intermediate = 64 }, method = 'online_fp8_tensor', backend = 'triton', all2all = 'deepep_ht', " START
           "s:expect { params_differ = 0, padding_leaks = 2 } s:expect { params_differ = 0, padding_leaks = 3 } end }",
     "record_and_fill", false},
    {SMALL "hidden = 224, intermediate = 64 }, method = 'unquantized', backend = 'triton', all2all = 'deepep_ht', " START
           "s:expect(cs.undetermined()) s:reload { driver = 'layerwise', checkpoint = 'B' } s:expect(cs.undetermined()) end }",
     "none", true},
    {"return cs.scenario { name = 'toy', model = cs.toy { params = { { name = 'p', shape = { 4, 4 }, dtype = 'f32', created = 'zeros' } }, loads = { "
     "A = { { param = 'p', at = { 0, 0 }, shape = { 2, 4 }, value = 1 } }, B = { { param = 'p', at = { 0, 0 }, shape = { 2, 4 }, value = 2 } } } }, "
     "differs = { { tensor = 'toy.p', region = { at = { 3, 0 }, shape = { 1, 3 } }, reason = 'vocabulary padding' } }, " START
     "s:reload { driver = 'layerwise', checkpoint = 'B' } s:expect(cs.equal()) end }",
     "none", true},
};

static void audits_of_scripts(void **state) {
    (void)state;
    for (size_t i = 0; i < CS_COUNT(small_scripts); i++) {
        struct cs_arena arena = {0};
        struct cs_scenario scenario = script_parse_good(small_scripts[i].text, &arena);
        for (size_t d = 0; d < 2; d++)
            every_request_may_fail(&(struct work){audit, &scenario, .policy = small_scripts[i].policy, .device = d ? "emu" : "ref",
                                                  .is_recorded = small_scripts[i].is_recorded});
        cs_arena_release(&arena);
    }
}

/* ---- scripts ---- */

static enum cs_status load_script(const struct work *work, struct cs_arena *arena, char *result) {
    struct cs_scenario scenario;
    CS_TRY(cs_script_load(work->path, arena, &scenario));
    snprintf(result, RESULT, "%s %zu %s", scenario.name, scenario.n_ops, scenario.backend ? scenario.backend : "-");
    return CS_OK;
}

static void scripts(void **state) {
    (void)state;
    static const char *const paths[] = {SOURCE_DIR "/scenarios/demo/padding_is_lost.lua", SOURCE_DIR "/scenarios/padding/second_load_splits_differently.lua"};
    for (size_t i = 0; i < CS_COUNT(paths); i++) every_request_may_fail(&(struct work){load_script, .path = paths[i]});
}

/* ---- verbs ---- */

/* Both streams go to files. */
struct streams {
    int out, err;
};

static struct streams turn_away(void) {
    fflush(stdout), fflush(stderr);
    struct streams kept = {dup(1), dup(2)};
    int out = open("out.txt", O_WRONLY | O_CREAT | O_TRUNC, 0666), err = open("err.txt", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(kept.out >= 0 && kept.err >= 0 && out >= 0 && err >= 0);
    dup2(out, 1), dup2(err, 2);
    close(out), close(err);
    return kept;
}

static void turn_back(struct streams kept) {
    fflush(stdout), fflush(stderr);
    dup2(kept.out, 1), dup2(kept.err, 2);
    close(kept.out), close(kept.err);
}

/* Without what a clock says. */
static uint64_t hash_of(const char *path) {
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    for (char *at = text; (at = strstr(at, "seconds\":"));) {
        at += strlen("seconds\":");
        memset(at, '#', strcspn(at, ",}\n"));
    }
    size = strlen(text);
    for (size_t i = size; i-- > 1;) /* numbers have any number of digits */
        if (text[i] == '#' && text[i - 1] == '#') memmove(text + i, text + i + 1, size - i), size--;
    return cs_fnv1a64(CS_FNV1A64_START, text, size);
}

/* `result`: exit status, and a hash of what it said and wrote. Exit status 3 wants a word of memory. */
static enum cs_status verb(const struct work *work, struct cs_arena *arena, char *result) {
    (void)arena;
    char words[512], *argv[32], *rest = NULL;
    int argc = 0;
    snprintf(words, sizeof words, "%s", work->line);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) argv[argc++] = word;
    argv[argc] = NULL;
    const struct cs_verb *found;
    assert_ok(cs_verb_find(argv[0], &found));
    remove("written.json"), remove("written.txt");
    struct streams kept = turn_away();
    int code = found->run(argc, argv);
    turn_back(kept);
    snprintf(result, RESULT, "%d %" PRIx64 " %" PRIx64 " %" PRIx64, code, hash_of("out.txt"), hash_of("written.json"), hash_of("written.txt"));
    if (code != CS_EXIT_INTERNAL) return CS_OK;
    static char text[4096];
    FILE *file = fopen("err.txt", "r");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    if (!strstr(text, "memory")) return cs_fail(CS_INTERNAL, "\"%s\" ends with 3 and says \"%s\"", work->line, text);
    return cs_fail(CS_NO_MEMORY, "%s", text);
}

static void verbs(void **state) {
    (void)state;
    static const char *const lines[] = {
        "list drivers",
        "list models",
        "list support",
        "help cs.reload",
        "help run",
        "check toy.lua",
        "check model.lua --checkpoint A=checkpoint",
        "run toy.lua --policy none --device ref --json written.json --junit written.txt --jobs 1 --color never",
        "run toy.lua --device emu --coverage written.json --jobs 1",
        "run model.lua --checkpoint A=checkpoint --jobs 1",
        "coverage --hit method=gpt_oss_mxfp4,driver=direct,before=cold,policy=none,sharding=tp1,arrival=in_order,backend=emulation --lua",
        "coverage seen.json --html written.txt --json written.json",
        "make-checkpoint model.lua A made --max-shard-size 1KiB",
        "bench -k memcpy --size 4KiB --threads 1",
        "mutants toy.lua --mutant block_loader_fills --json written.json --html written.txt",
    };
    write_toy("toy.lua", "toy", "\"a\", \"b\"", "cs.equal()");
    write_model("model.lua");
    coldstart("make-checkpoint model.lua A checkpoint");
    assert_int_equal(outcome.status, 0);
    coldstart("run toy.lua --coverage seen.json");
    for (size_t i = 0; i < CS_COUNT(lines); i++) every_request_may_fail(&(struct work){verb, .line = lines[i]});
}

int main(void) {
    omp_set_num_threads(1); /* the count of requests is not for threads */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(audits_of_toys),
        cmocka_unit_test(audits_with_undetermined_cold_starts),
        cmocka_unit_test(audits_of_experts),
        cmocka_unit_test(audits_by_kernels_and_of_refused_loads),
        cmocka_unit_test(scripts),
        cmocka_unit_test(audits_of_scripts),
        cmocka_unit_test(verbs),
    };
    return cmocka_run_group_tests(tests, script_folder_setup, script_folder_teardown);
}
