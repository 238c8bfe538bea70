/* The options of `run` that choose, stop, repeat and share out; `check`; `make-checkpoint`. To the letter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/cli.h"
#include "tests/support_cli.h"
#include "tests/support_files.h"

#define GPT_OSS SOURCE_DIR "/scenarios/gpt_oss/mxfp4_tp1_sync.lua"

#define PASSED(name, policy) "PASSED  " name "  " policy "  ref  1 parameter equal\n"
#define BOTH_PASSED(name) PASSED(name, "none") PASSED(name, "record_and_fill")
#define TOTALS(passed, failed) "0 refused (counted as passed), 0 mistrusted (counted as failed)\n" passed " passed, " failed " failed, 0 skipped\n"

static int make_scenarios(void **state) {
    (void)state;
    if (enter_new_folder() != 0) return -1;
    mkdir("t", 0777), mkdir("f", 0777), mkdir("empty", 0777), mkdir("used", 0777);
    write_toy("t/a.lua", "toy.a", "\"small\", \"R1\"", "cs.equal()");
    write_toy("t/b.lua", "toy.b", "\"small\", \"R2\"", "{ params_differ = 0 }");
    write_toy("t/c.lua", "toy.c", "\"full\", \"R1\"", "cs.equal()");
    write_toy("f/a.lua", "toy.fails", "\"toy\"", "{ params_differ = 1 }");
    write_toy("f/b.lua", "toy.after", "\"toy\"", "cs.equal()");
    write_model("model.lua");
    write_text("broken.lua", "return cs.scenario {\n  name = ,\n}\n");
    write_text("used/file", "");
    return 0;
}

static int remove_scenarios(void **state) {
    (void)state;
    return leave_folder();
}

static void assert_run(const char *arguments, int status, const char *out, const char *err) {
    coldstart(arguments);
    if (outcome.status != status) fail_msg("\"%s\": exit status %d, not %d: %s", arguments, outcome.status, status, outcome.err);
    assert_string_equal(outcome.out, out);
    assert_string_equal(outcome.err, err);
}

/* ---- tags ---- */

static void a_folder_leaves_out_what_is_tagged_full_and_says_so(void **state) {
    (void)state;
    assert_run("run t", CS_EXIT_PASSED, BOTH_PASSED("toy.a") BOTH_PASSED("toy.b") TOTALS("4", "0"),
               "left out 1 scenario tagged full: add --tag full\nseed 1\n");
    assert_run("run t/c.lua", CS_EXIT_PASSED, BOTH_PASSED("toy.c") TOTALS("2", "0"), "seed 1\n");
    assert_run("run t --tag full", CS_EXIT_PASSED, BOTH_PASSED("toy.c") TOTALS("2", "0"), "seed 1\n");
}

static void a_file_that_is_named_twice_runs_once(void **state) {
    (void)state;
    assert_run("run t/a.lua t/a.lua", CS_EXIT_PASSED, BOTH_PASSED("toy.a") TOTALS("2", "0"),
               "coldstart: t/a.lua is named twice (as t/a.lua): it runs once\nseed 1\n");
    assert_run("run t ./t/c.lua t/../t/a.lua", CS_EXIT_PASSED, BOTH_PASSED("toy.a") BOTH_PASSED("toy.b") BOTH_PASSED("toy.c") TOTALS("6", "0"),
               "coldstart: ./t/c.lua is named twice (as t/c.lua): it runs once\n"
               "coldstart: t/../t/a.lua is named twice (as t/a.lua): it runs once\nseed 1\n"); /* c.lua is tagged full, but named */
}

static void a_full_disk_is_told_once_by_many_processes(void **state) {
    (void)state;
    coldstart("run -j2 t/a.lua t/b.lua t/c.lua f/b.lua -q >/dev/full");
    assert_int_equal(outcome.status, CS_EXIT_INTERNAL);
    const char *first = strstr(outcome.err, "cannot write to stdout");
    assert_non_null(first);
    assert_null(strstr(first + 1, "cannot write to stdout"));
}

static void a_tag_selects_and_tags_add_up(void **state) {
    (void)state;
    assert_run("run t --tag R2", CS_EXIT_PASSED, BOTH_PASSED("toy.b") TOTALS("2", "0"), "seed 1\n");
    assert_run("run t --tag R1", CS_EXIT_PASSED, BOTH_PASSED("toy.a") TOTALS("2", "0"),
               "left out 1 scenario tagged full: add --tag full\nseed 1\n");
    assert_run("run t --tag R1 --tag full", CS_EXIT_PASSED, BOTH_PASSED("toy.c") TOTALS("2", "0"), "seed 1\n");
    assert_run("run t --tag R1 --tag R2", CS_EXIT_NOTHING, "", "coldstart: nothing ran: no scenario has every tag\n");
}

static void a_tag_that_selects_nothing_is_named(void **state) {
    (void)state;
    assert_run("run t --tag smal", CS_EXIT_NOTHING, "", "coldstart: nothing ran: no scenario is tagged \"smal\": did you mean \"small\"?\n");
    assert_run("run t --tag xyzzy", CS_EXIT_NOTHING, "", "coldstart: nothing ran: no scenario is tagged \"xyzzy\"\n");
    assert_run("run t -k toy.c", CS_EXIT_NOTHING, "",
               "left out 1 scenario tagged full: add --tag full\ncoldstart: nothing ran: all of it is tagged full\n");
    assert_run("run t --tag R2 -k toy.a", CS_EXIT_NOTHING, "",
               "coldstart: nothing ran: no scenario has every tag and a name that contains \"toy.a\"\n");
}

/* ---- -x ---- */

static void the_first_failure_can_be_the_last(void **state) {
    (void)state;
    coldstart("run f -x");
    assert_int_equal(outcome.status, CS_EXIT_FAILED);
    assert_says(outcome.out, "FAILED  toy.fails  none  ref\n");
    assert_says(outcome.out, TOTALS("0", "1"));
    assert_string_equal(outcome.err, "seed 1\nstopped after the first failure, 3 of 4 not run:\n"
                                     "  toy.fails  record_and_fill\n  toy.after  none\n  toy.after  record_and_fill\n");
}

static void without_a_failure_nothing_is_left(void **state) {
    (void)state;
    assert_run("run f/b.lua --fail-fast", CS_EXIT_PASSED, BOTH_PASSED("toy.after") TOTALS("2", "0"), "seed 1\n");
    coldstart("run f/a.lua -x --policy none"); /* the last one fails */
    assert_int_equal(outcome.status, CS_EXIT_FAILED);
    assert_string_equal(outcome.err, "seed 1\n");
}

/* ---- --repeat ---- */

static void repetitions_that_agree_are_one_verdict(void **state) {
    (void)state;
    assert_run("run t/a.lua --repeat 3", CS_EXIT_PASSED, BOTH_PASSED("toy.a") TOTALS("2", "0"), "seed 1\n");
    coldstart("run f/a.lua --policy none");
    char *once = strdup(outcome.out);
    coldstart("run f/a.lua --policy none --repeat 5");
    assert_string_equal(outcome.out, once);
    free(once);
}

static void numbers_of_times_are_checked(void **state) {
    (void)state;
    assert_refused("run t --repeat 0", CS_EXIT_USAGE, "--repeat wants a number from 1 to 1000000, found \"0\"");
    assert_refused("run t --repeat 2x", CS_EXIT_USAGE, "found \"2x\"");
    assert_refused("run t -j -1", CS_EXIT_USAGE, "--jobs wants a number from 1 to 256, found \"-1\"");
    assert_refused("run t -j 257", CS_EXIT_USAGE, "found \"257\"");
    assert_refused("run t -j ''", CS_EXIT_USAGE, "found \"\"");
}

/* ---- -j ---- */

static char *without_seconds(const char *path) {
    char command[256], *text = calloc(1, CLI_OUTPUT);
    snprintf(command, sizeof command, "grep -v '\"seconds\"' %s", path);
    FILE *lines = popen(command, "r");
    assert_non_null(text);
    assert_non_null(lines);
    size_t n = fread(text, 1, CLI_OUTPUT - 1, lines);
    assert_true(n > 0);
    pclose(lines);
    return text;
}

/* stdout, stderr, exit status and JSON. */
static void assert_same_with_jobs(const char *arguments) {
    static struct outcome alone;
    char command[512];
    snprintf(command, sizeof command, "%s --json one.json", arguments);
    coldstart(command);
    alone = outcome;
    const char *const jobs[] = {"2", "3", "16"};
    char *one = without_seconds("one.json");
    for (size_t i = 0; i < CS_COUNT(jobs); i++) {
        snprintf(command, sizeof command, "%s --json many.json -j %s", arguments, jobs[i]);
        coldstart(command);
        char *many = without_seconds("many.json");
        assert_int_equal(outcome.status, alone.status);
        assert_string_equal(outcome.out, alone.out);
        assert_string_equal(outcome.err, alone.err);
        assert_string_equal(many, one);
        free(many);
    }
    free(one);
}

static void processes_change_nothing(void **state) {
    (void)state;
    assert_same_with_jobs("run f t model.lua");
    assert_same_with_jobs("run f t model.lua -x");
    assert_same_with_jobs("run t -x --repeat 2");
    assert_same_with_jobs("run " SOURCE_DIR "/scenarios/demo " SOURCE_DIR "/scenarios/gpt_oss " SOURCE_DIR "/scenarios/padding " SOURCE_DIR "/scenarios/meta");
    assert_same_with_jobs("run f t model.lua --device auto");
}

static void an_error_in_a_process_is_the_error_of_the_run(void **state) {
    (void)state;
    static struct outcome alone;
    coldstart("run t/a.lua model.lua t/b.lua --checkpoint A=empty");
    alone = outcome;
    assert_int_equal(outcome.status, CS_EXIT_USAGE);
    assert_says(outcome.err, "coldstart: dense, policy none, device ref: ");
    coldstart("run t/a.lua model.lua t/b.lua --checkpoint A=empty -j 3");
    assert_int_equal(outcome.status, alone.status);
    assert_string_equal(outcome.out, alone.out);
    assert_string_equal(outcome.err, alone.err);
}

/* ---- warnings ---- */

static void a_warning_of_a_verdict_is_told_once(void **state) {
    (void)state;
    coldstart("run " SOURCE_DIR "/scenarios/padding/who_is_not_recorded.lua --json -");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    const char *warning = strstr(outcome.err, "warning: " SOURCE_DIR "/scenarios/padding/who_is_not_recorded.lua: padding.who_is_not_recorded: toy.loose is not registered");
    assert_non_null(warning);
    assert_null(strstr(warning + 1, "warning: "));
    assert_says(outcome.out, "\"warning\": \"toy.loose is not registered");
    coldstart("run t/a.lua --json -");
    assert_says(outcome.out, "\"warning\": null");
}

/* ---- check ---- */

static void check_reads_every_script_and_runs_none(void **state) {
    (void)state;
    assert_run("check t f/a.lua", CS_EXIT_PASSED,
               "ok     t/a.lua  toy.a\nok     t/b.lua  toy.b\nok     t/c.lua  toy.c\nok     f/a.lua  toy.fails\n4 checked, 0 wrong\n", "");
    coldstart("check broken.lua nowhere.lua t");
    assert_int_equal(outcome.status, CS_EXIT_USAGE);
    assert_string_equal(outcome.err, "");
    assert_says(outcome.out, "wrong  broken.lua:2: ");
    assert_says(outcome.out, "\nwrong  nowhere.lua: cannot read \"nowhere.lua\": No such file or directory\n");
    assert_says(outcome.out, "\nok     t/c.lua  toy.c\n5 checked, 2 wrong\n");
}

static void check_wants_something_to_check(void **state) {
    (void)state;
    assert_run("check", CS_EXIT_USAGE, "", "coldstart: check what? name a scenario file or a folder of them\n");
    assert_run("check empty", CS_EXIT_NOTHING, "", "coldstart: nothing was checked: there is no scenario below \"empty\"\n");
    assert_refused("check t --policy none", CS_EXIT_USAGE, "unknown option --policy");
}

/* ---- make-checkpoint ---- */

static void a_checkpoint_of_one_file_has_no_index(void **state) {
    (void)state;
    assert_run("make-checkpoint model.lua A one", CS_EXIT_PASSED, "one: 2 tensors, 32 bytes in 1 file\n", "");
    assert_int_equal(count_files("one"), 1);
    assert_run("run model.lua --checkpoint A=one/model.safetensors", CS_EXIT_PASSED,
               "PASSED  dense  none  ref  2 parameters equal\n" TOTALS("1", "0"), "seed 1\n");
}

static void shards_have_an_index(void **state) {
    (void)state;
    assert_run("make-checkpoint model.lua B shards/ --max-shard-size=16", CS_EXIT_PASSED, "shards/: 2 tensors, 32 bytes in 2 files\n", "");
    assert_int_equal(count_files("shards"), 3);
    coldstart("version; cat shards/model.safetensors.index.json");
    assert_string_equal(outcome.out, "coldstart 0.1.0\n{\n  \"metadata\": {\n    \"total_size\": 32\n  },\n  \"weight_map\": {\n"
                                     "    \"layers.0.norm.weight\": \"model-00001-of-00002.safetensors\",\n"
                                     "    \"layers.1.norm.weight\": \"model-00002-of-00002.safetensors\"\n  }\n}\n");
    assert_run("run model.lua --checkpoint B=shards", CS_EXIT_PASSED, "PASSED  dense  none  ref  2 parameters equal\n" TOTALS("1", "0"), "seed 1\n");
}

static void a_tensor_larger_than_the_limit_has_a_file_alone(void **state) {
    (void)state;
    assert_run("make-checkpoint model.lua A alone --max-shard-size 1", CS_EXIT_PASSED, "alone: 2 tensors, 32 bytes in 2 files\n", "");
    assert_run("make-checkpoint model.lua A together --max-shard-size 32B", CS_EXIT_PASSED, "together: 2 tensors, 32 bytes in 1 file\n", "");
}

static void another_seed_gives_other_numbers(void **state) {
    (void)state;
    coldstart("make-checkpoint model.lua A seed1 --seed 1; cmp seed1/model.safetensors one/model.safetensors");
    assert_int_equal(outcome.status, 0);
    coldstart("make-checkpoint model.lua A seed2 --seed 2; cmp -s seed2/model.safetensors one/model.safetensors");
    assert_int_equal(outcome.status, 1);
}

static void what_cannot_be_made_is_named(void **state) {
    (void)state;
    assert_refused("make-checkpoint model.lua A", CS_EXIT_USAGE, "make-checkpoint wants a scenario file, the name of a checkpoint and a folder, 2 given");
    assert_refused("make-checkpoint model.lua X new", CS_EXIT_USAGE, "unknown checkpoint \"X\": did you mean \"A\"?");
    assert_refused("make-checkpoint t/a.lua A new", CS_EXIT_USAGE, "t/a.lua: a toy spells out what each load writes: it has no checkpoints");
    assert_refused("make-checkpoint model.lua A new --max-shard-size 1GB", CS_EXIT_USAGE, "--max-shard-size: \"1GB\" is not a size");
    assert_refused("make-checkpoint model.lua A new --max-shard-size 0", CS_EXIT_USAGE, "a file must have room for something");
    assert_refused("make-checkpoint model.lua A new --seed x", CS_EXIT_USAGE, "--seed wants a whole number");
    assert_refused("make-checkpoint model.lua A used", CS_EXIT_USAGE, "\"used\" is there already and not empty: name a new folder");
    assert_refused("make-checkpoint model.lua A broken.lua", CS_EXIT_USAGE, "\"broken.lua\" is there already and no folder: name a new one");
    assert_refused("make-checkpoint model.lua A no/where", CS_EXIT_USAGE, "\"no/where\" cannot be created: No such file or directory");
    assert_int_equal(count_files("used"), 1);
    coldstart("version; ls -d new* used.*");
    assert_string_equal(outcome.out, "coldstart 0.1.0\n");
}

static void a_patched_checkpoint_is_written_like_any_other(void **state) {
    (void)state;
    assert_run("make-checkpoint " SOURCE_DIR "/scenarios/found/f21_sparse_patch.lua A f21_a -q", CS_EXIT_PASSED,
               "f21_a: 16 tensors, 592456 bytes in 1 file\n", "");
    assert_run("make-checkpoint " SOURCE_DIR "/scenarios/found/f21_sparse_patch.lua B f21_b -q", CS_EXIT_PASSED,
               "f21_b: 16 tensors, 592456 bytes in 1 file\n", "");
    /* cmp: one line for each byte that differs; a number of bf16 has 2 */
    coldstart("version; cmp -l f21_a/model.safetensors f21_b/model.safetensors | awk '{ if (NR == 1) first = $1; last = $1 } "
              "END { print (NR > 0 && last - first < 2) }'");
    assert_string_equal(outcome.out, "coldstart 0.1.0\n1\n");
}

static void a_list_is_written_nowhere(void **state) {
    (void)state;
    assert_run("make-checkpoint model.lua B --list", CS_EXIT_PASSED, "layers.0.norm.weight  BF16  [8]\nlayers.1.norm.weight  BF16  [8]\n", "");
    assert_refused("make-checkpoint model.lua A new --list", CS_EXIT_USAGE,
                   "make-checkpoint wants a scenario file, the name of a checkpoint and with --list nothing more, 3 given");
}

static void a_folder_is_checked_without_loading_it(void **state) {
    (void)state;
    coldstart("make-checkpoint model.lua A fits");
    assert_run("check model.lua --checkpoint A=fits --checkpoint B=fits/model.safetensors", CS_EXIT_PASSED,
               "fits   A=fits  2 tensors: 2 taken, 0 not simulated\n"
               "fits   B=fits/model.safetensors  2 tensors: 2 taken, 0 not simulated\nok     model.lua  dense\n1 checked, 0 wrong\n", "");
    assert_run("check model.lua --checkpoint A=empty", CS_EXIT_USAGE,
               "wrong  model.lua: empty: has neither model.safetensors.index.json nor a *.safetensors file: is it the right folder?\n"
               "1 checked, 1 wrong\n", "");
    assert_run("check model.lua t/a.lua --checkpoint C=fits", CS_EXIT_USAGE,
               "wrong  model.lua: unknown checkpoint \"C\": did you mean \"A\"?\n"
               "wrong  t/a.lua: --checkpoint C: no selected scenario has a checkpoint that a folder could replace\n2 checked, 2 wrong\n", "");
    assert_run("check model.lua --checkpoint A=fits --checkpoint A=empty", CS_EXIT_USAGE,
               "wrong  model.lua: --checkpoint is given twice for one name: \"A=fits\" and \"A=empty\"\n1 checked, 1 wrong\n", "");
    assert_run("check model.lua --checkpoint A=nowhere", CS_EXIT_USAGE,
               "wrong  model.lua: --checkpoint A=nowhere: No such file or directory\n1 checked, 1 wrong\n", "");
    assert_refused("check model.lua --set hidden", CS_EXIT_USAGE, "--set wants NAME=VALUE");
}

/* ---- checkpoints that are copies of others ---- */

/* w [2, 3] and u8 b [4]; the checkpoints are on line 7. */
static void write_copies(const char *checkpoints) {
    char text[2048];
    snprintf(text, sizeof text,
             "return cs.scenario {\n  name = 'copies', policies = { 'none' },\n"
             "  model = cs.model { name = 'dense', layers = 1, hidden = 6, modules = { cs.module { name = 'n.{layer}', tensors = {\n"
             "    { name = 'w', dtype = 'f32', shape = { 2, 3 } },\n    { name = 'b', dtype = 'u8', shape = 4 } } } } },\n"
             "  checkpoints = {\n%s\n},\n  run = function(s)\n    s:cold_start 'A'\n"
             "    s:reload { driver = 'layerwise', checkpoint = 'B' }\n    s:expect(cs.equal())\n  end,\n}\n",
             checkpoints);
    write_text("copies.lua", text);
}

static void copies_of_copies_may_have_any_names(void **state) {
    (void)state;
    static const char *const good[] = {
        "B = cs.patched('C', 'n.0.w', { 0, 1 }, 3), C = cs.patched('A', 'n.0.w', { 0, 2 }, 3)",
        "B = cs.patched('C', 'n.0.w', { 0, 1 }, 3), C = cs.perturbed 'A'",
        "B = cs.perturbed 'C', C = cs.patched('A', 'n.0.w', { 0, 2 }, 3)",
        "B = cs.patched('C', 'n.0.b', 3, 255), C = cs.perturbed 'D', D = cs.patched('A', 'n.0.b', { 0 }, 3)",
    };
    for (size_t i = 0; i < CS_COUNT(good); i++) {
        char folder[64];
        write_copies(good[i]);
        assert_run("run copies.lua", CS_EXIT_PASSED, "PASSED  copies  none  ref  2 parameters equal\n" TOTALS("1", "0"), "seed 1\n");
        assert_run("check copies.lua", CS_EXIT_PASSED, "ok     copies.lua  copies\n1 checked, 0 wrong\n", "");
        snprintf(folder, sizeof folder, "make-checkpoint copies.lua B copy%zu", i);
        coldstart(folder);
        assert_int_equal(outcome.status, CS_EXIT_PASSED);
        assert_says(outcome.out, ": 2 tensors, 28 bytes in 1 file\n");
    }
}

static void copies_that_cannot_be_made_are_refused_where_the_script_asks_for_them(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"B = cs.patched('C', 'n.0.w', { 0, 1 }, 3), C = cs.patched('B', 'n.0.w', { 0, 2 }, 3)",
         "copies.lua:7: checkpoint B is a copy of \"C\", and by way of \"C\" of itself: name an original that is no copy of it"},
        {"A = cs.patched('A', 'n.0.w', { 0, 1 }, 3)", "copies.lua:7: checkpoint A is a copy of itself: name another original"},
        {"A = cs.patched('B', 'n.0.w', { 0, 1 }, 3)", "copies.lua:7: checkpoint A is a copy of \"B\", and by way of \"B\" of itself"},
        {"B = cs.patched('A', 'n.0.w', { 0, 1, 99, 7, 7 }, 3)",
         "copies.lua:7: checkpoint B: tensor \"n.0.w\" has 2 dimensions, and its element is named by 5 indices: give one for each dimension"},
        {"B = cs.patched('A', 'n.0.w', 0, 3)",
         "copies.lua:7: checkpoint B: tensor \"n.0.w\" has 2 dimensions, and its element is named by 1 index: give one for each dimension"},
        {"B = cs.patched('A', 'n.0.w', { 0, 3 }, 3)", "copies.lua:7: checkpoint B: element 3 of dimension 1 of tensor \"n.0.w\", which has 3"},
        {"B = cs.patched('A', 'n.0.x', { 0, 3 }, 3)", "copies.lua:7: checkpoint B: its original A has no tensor \"n.0.x\" to change"},
        {"B = cs.patched('A', 'n.0.b', 1, 300)",
         "copies.lua:7: checkpoint B: tensor \"n.0.b\": u8 holds whole numbers from 0 to below 256, not 300"},
        {"B = cs.patched('A', 'n.0.b', 1, 0.5)", "copies.lua:7: checkpoint B: tensor \"n.0.b\": u8 holds whole numbers, not 0.5"},
        {"B = cs.patched('A', 'n.0.w', { 0, 1 }, 1e39)",
         "copies.lua:7: checkpoint B: tensor \"n.0.w\": f32 has no number near 1e+39: choose one that it holds"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        write_copies(rows[i][0]);
        coldstart("run copies.lua");
        assert_int_equal(outcome.status, CS_EXIT_USAGE);
        assert_string_equal(outcome.out, "");
        assert_says(outcome.err, rows[i][1]);
        coldstart("check copies.lua");
        assert_int_equal(outcome.status, CS_EXIT_USAGE);
        assert_says(outcome.out, rows[i][1]);
    }
}

static void a_checkpoint_of_a_size_that_no_shape_takes_is_named(void **state) {
    (void)state;
    write_text("odd.lua",
                          "return cs.scenario {\n  name = 'odd', policies = { 'none' }, defects = { 'sizes_unchecked' }, method = 'mxfp8_modelopt', backend = 'triton',\n"
                          "  model = cs.model { name = 'experts', layers = 1, experts = 2, hidden = 64, intermediate = 64, modules = {\n"
                          "    cs.module { name = 'l.{layer}.e', checkpoint = 'l.{layer}.e', routed_experts = true } } },\n"
                          "  checkpoints = { A = cs.pattern(0),\n    B = cs.pattern(1, 33) },\n"
                          "  run = function(s) s:cold_start 'A' s:reload { driver = 'layerwise', checkpoint = 'B' } s:expect(cs.equal()) end,\n}\n");
    coldstart("run odd.lua");
    assert_int_equal(outcome.status, CS_EXIT_USAGE);
    assert_says(outcome.err, "odd.lua:6: checkpoint B: tensor \"l.0.e.0.down_proj.weight_scale\": shape word \"If/32\": 33 is not a multiple of 32");
}

static void padding_wants_rows(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"cs.pad('p', 16, 1)", "parameter p: found 1 dimension, expected 2 to "},
        {"cs.empty 'p', cs.pad('p', 16, 1)", "an earlier step left nothing of this parameter"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "return cs.scenario { name = 'pad', policies = { 'none' }, model = cs.toy {\n"
                 "  params = { { name = 'p', shape = 8, dtype = 'f32' } }, post_load = { %s },\n"
                 "  loads = { A = { { param = 'p', at = 0, shape = 8, values = { 1, 2, 3, 4, 5, 6, 7, 8 } } } } },\n"
                 "  run = function(s) s:cold_start 'A' s:expect { params_differ = 0 } end }\n",
                 rows[i][0]);
        write_text("pad.lua", text);
        coldstart("run pad.lua");
        assert_int_equal(outcome.status, CS_EXIT_USAGE);
        assert_says(outcome.err, rows[i][1]);
    }
}

static void an_empty_folder_may_be_filled(void **state) {
    (void)state;
    mkdir("hollow", 0777);
    coldstart("make-checkpoint model.lua A hollow");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_int_equal(count_files("hollow"), 1);
}

/* 86 kB of tensors do not fit into files of at most 8 blocks of 512 or 1024 bytes. */
static void a_failed_write_leaves_nothing(void **state) {
    (void)state;
    mkdir("disk", 0777);
    coldstart("version; ulimit -f 8; '" COLDSTART "' make-checkpoint " GPT_OSS " A disk/full");
    assert_int_equal(outcome.status, CS_EXIT_INTERNAL);
    assert_says(outcome.err, "cannot be written: File too large");
    assert_int_equal(count_files("disk"), 0);
    coldstart("version; ulimit -f 1; '" COLDSTART "' run " GPT_OSS " --policy none --json disk/r.json"); /* 1 kB */
    assert_int_equal(outcome.status, CS_EXIT_INTERNAL);
    assert_says(outcome.err, "cannot write \"disk/r.json\": File too large");
    assert_int_equal(count_files("disk"), 0);
}

/* A from files is A from numbers: the same verdicts and counts, whatever the shards. B becomes a copy of the files. */
static void a_checkpoint_that_was_written_gives_the_same_verdicts(void **state) {
    (void)state;
    coldstart("run " GPT_OSS);
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    char *synthetic = strdup(outcome.out);
    coldstart("make-checkpoint " GPT_OSS " A gpt_oss --max-shard-size 64KiB");
    assert_string_equal(outcome.out, "gpt_oss: 21 tensors, 286672 bytes in 5 files\n");
    coldstart("run " GPT_OSS " --checkpoint A=gpt_oss");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_string_equal(outcome.out, synthetic);
    free(synthetic);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_leaves_out_what_is_tagged_full_and_says_so),
        cmocka_unit_test(a_file_that_is_named_twice_runs_once),
        cmocka_unit_test(a_full_disk_is_told_once_by_many_processes),
        cmocka_unit_test(a_tag_selects_and_tags_add_up),
        cmocka_unit_test(a_tag_that_selects_nothing_is_named),
        cmocka_unit_test(the_first_failure_can_be_the_last),
        cmocka_unit_test(without_a_failure_nothing_is_left),
        cmocka_unit_test(repetitions_that_agree_are_one_verdict),
        cmocka_unit_test(numbers_of_times_are_checked),
        cmocka_unit_test(processes_change_nothing),
        cmocka_unit_test(an_error_in_a_process_is_the_error_of_the_run),
        cmocka_unit_test(a_warning_of_a_verdict_is_told_once),
        cmocka_unit_test(check_reads_every_script_and_runs_none),
        cmocka_unit_test(check_wants_something_to_check),
        cmocka_unit_test(a_checkpoint_of_one_file_has_no_index),
        cmocka_unit_test(shards_have_an_index),
        cmocka_unit_test(a_tensor_larger_than_the_limit_has_a_file_alone),
        cmocka_unit_test(another_seed_gives_other_numbers),
        cmocka_unit_test(what_cannot_be_made_is_named),
        cmocka_unit_test(a_list_is_written_nowhere),
        cmocka_unit_test(a_folder_is_checked_without_loading_it),
        cmocka_unit_test(a_patched_checkpoint_is_written_like_any_other),
        cmocka_unit_test(copies_of_copies_may_have_any_names),
        cmocka_unit_test(copies_that_cannot_be_made_are_refused_where_the_script_asks_for_them),
        cmocka_unit_test(a_checkpoint_of_a_size_that_no_shape_takes_is_named),
        cmocka_unit_test(padding_wants_rows),
        cmocka_unit_test(an_empty_folder_may_be_filled),
        cmocka_unit_test(a_failed_write_leaves_nothing),
        cmocka_unit_test(a_checkpoint_that_was_written_gives_the_same_verdicts),
    };
    return cmocka_run_group_tests(tests, make_scenarios, remove_scenarios);
}
