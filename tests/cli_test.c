/* The real program: exit statuses, what goes to stdout and what to stderr. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "sim/cli/cli.h"
#include "tests/support_cli.h"

/* ---- a folder with scenarios ---- */

static void write_scenario(const char *path, const char *name, const char *expectation) {
    write_toy(path, name, "\"toy\"", expectation);
}

/* "t/b.lua" passes, "t/sub/a.lua" fails; what the others hold must never be run. */
static int make_scenarios(void **state) {
    (void)state;
    if (enter_new_folder() != 0) return -1;
    mkdir("t", 0777), mkdir("t/sub", 0777), mkdir("t/models", 0777), mkdir("empty", 0777);
    write_scenario("t/b.lua", "toy.right", "cs.equal()");
    write_scenario("t/sub/a.lua", "toy.wrong", "{ params_differ = 1 }");
    write_model("model.lua");
    write_text("t/models/m.lua", "return {}\n");
    write_text("t/.hidden.lua", "not a scenario\n");
    write_text("t/notes.txt", "not a scenario\n");
    write_text("broken.lua", "return cs.scenario {\n  name = ,\n}\n");
    return 0;
}

static int remove_scenarios(void **state) {
    (void)state;
    return leave_folder();
}

/* ---- verbs ---- */

static void without_a_verb_it_says_where_to_look(void **state) {
    (void)state;
    assert_refused("", CS_EXIT_USAGE, "coldstart help");
}

static void an_unknown_verb_gets_a_suggestion(void **state) {
    (void)state;
    assert_refused("lst", CS_EXIT_USAGE, "unknown verb \"lst\": did you mean \"list\"?");
    assert_refused(
        "xyzzy", CS_EXIT_USAGE,
        "one of bench, check, conform, coverage, fuzz, help, list, make-checkpoint, merge, mutants, run, version");
}

static void the_version_is_one_line(void **state) {
    (void)state;
    coldstart("version");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_string_equal(outcome.out, "coldstart 0.1.0\n");
    coldstart("--version");
    assert_string_equal(outcome.out, "coldstart 0.1.0\n");
    assert_refused("version now", CS_EXIT_USAGE, "\"now\"");
    assert_refused("fuzz --runs 0 --output-dir /dev/null", CS_EXIT_USAGE,
                   "--output-dir /dev/null: is a file, expected a folder or a name that is free: name another one");
    assert_refused("fuzz --runs 0 --output-dir /proc/there/is/none", CS_EXIT_USAGE,
                   "--output-dir /proc/there/is/none: cannot be made: No such file or directory: name a folder where "
                   "you may write");
}

static void a_report_without_a_place_is_refused_before_the_work(void **state) {
    (void)state;
    size_t n = 0;
    for (size_t i = 0; i < cs_n_verbs; i++)
        for (const struct cs_option *option = cs_verbs[i].options; option && option->name; option++) {
            if (option->use != CS_WRITTEN && option->use != CS_SHOWN) continue;
            char arguments[128], message[128];
            n++;
            snprintf(message, sizeof message, "--%s: cannot write \"/proc/there/r\": No such file or directory",
                     option->name);
            snprintf(arguments, sizeof arguments, "%s --%s /proc/there/r", cs_verbs[i].name, option->name);
            assert_refused(arguments, CS_EXIT_USAGE, message);
            snprintf(message, sizeof message, "--%s: cannot write \"/proc\": Is a directory", option->name);
            snprintf(arguments, sizeof arguments, "%s --%s /proc", cs_verbs[i].name, option->name);
            assert_refused(arguments, CS_EXIT_USAGE, message);
            if (option->use == CS_SHOWN) continue;
            snprintf(message, sizeof message, "--%s -: it would stand among the text on stdout", option->name);
            snprintf(arguments, sizeof arguments, "%s --%s -", cs_verbs[i].name, option->name);
            assert_refused(arguments, CS_EXIT_USAGE, message);
        }
    assert_refused("run t --json r --coverage r", CS_EXIT_USAGE, "--json and --coverage both write \"r\": name two files");
    assert_true(n >= 12); /* run, fuzz, merge and mutants 2 each, bench 1, coverage 3 */
}

static void help_knows_every_verb(void **state) {
    (void)state;
    coldstart("--help");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    for (size_t i = 0; i < cs_n_verbs; i++) assert_says(outcome.out, cs_verbs[i].name);
    for (size_t i = 0; i < cs_n_verbs; i++) {
        char arguments[64];
        snprintf(arguments, sizeof arguments, "help %s", cs_verbs[i].name);
        coldstart(arguments);
        assert_int_equal(outcome.status, CS_EXIT_PASSED);
        assert_says(outcome.out, cs_verbs[i].summary);
        for (const struct cs_option *option = cs_verbs[i].options; option && option->name; option++)
            assert_says(outcome.out, option->text);
    }
    assert_refused("help rum", CS_EXIT_USAGE, "did you mean \"run\"?");
}

static void help_of_a_verb_works_from_behind(void **state) {
    (void)state;
    coldstart("run nowhere --help");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_says(outcome.out, "usage: coldstart run FILE|DIR... [OPTION...]\n");
}

static void list_shows_every_registry(void **state) {
    (void)state;
    coldstart("list");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    const char *const shown[] = {"devices:\n\n",  "ref     available\n", "methods:\n\n",         "gpt_oss_mxfp4",
                                 "backends:\n\n", "flashinfer_trtllm",   "layouts:\n\n",         "swizzle_128x4",
                                 "loaders:\n\n",  "policies:\n\n",       "record_and_fill",      "drivers:\n\n",
                                 "layerwise",     "mutants:\n\n",        "streamed_padded_split"};
    for (size_t i = 0; i < CS_COUNT(shown); i++) assert_says(outcome.out, shown[i]);
}

static void a_list_is_aligned_and_has_no_trailing_spaces(void **state) {
    (void)state;
    coldstart("list policies");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_says(outcome.out, "policy             rule");
    assert_says(outcome.out, "\nnone               ");
    assert_null(strstr(outcome.out, " \n"));
    assert_refused("list polices", CS_EXIT_USAGE, "did you mean \"policies\"?");
    assert_refused("list policies drivers", CS_EXIT_USAGE, "\"drivers\"");
}

/* ---- outputs that fail ---- */

static void a_closed_or_full_stdout_is_never_silent(void **state) {
    (void)state;
    coldstart("version >&-");
    assert_int_equal(outcome.status, CS_EXIT_INTERNAL);
    assert_says(outcome.err, "stdout is closed");
    coldstart("version >/dev/full");
    assert_int_equal(outcome.status, CS_EXIT_INTERNAL);
    assert_says(outcome.err, "cannot write to stdout: No space left on device");
    coldstart("run t/b.lua >/dev/full");
    assert_int_equal(outcome.status, CS_EXIT_INTERNAL);
}

static void a_reader_that_goes_away_ends_it_quietly(void **state) {
    (void)state;
    coldstart("list | true");
    assert_string_equal(outcome.err, "");
}

static void a_closed_stderr_or_stdin_does_no_harm(void **state) {
    (void)state;
    coldstart("run t/b.lua 2>&- <&-");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_says(outcome.out, "2 passed, 0 failed, 0 skipped\n");
}

/* ---- options ---- */

static void wrong_options_are_named(void **state) {
    (void)state;
    assert_refused("run t --polcy none", CS_EXIT_USAGE, "unknown option --polcy: did you mean --policy?");
    assert_refused("run t -z", CS_EXIT_USAGE, "unknown option -z");
    assert_refused("run t --seed", CS_EXIT_USAGE, "--seed needs a value");
    assert_refused("run t -k --json x", CS_EXIT_USAGE, "-k (--filter) needs a value");
    assert_refused("run t --seed 1 --seed=2", CS_EXIT_USAGE, "--seed is given twice: \"1\" and \"2\"");
    assert_refused("help --seed 1", CS_EXIT_USAGE, "unknown option --seed");
    assert_refused("run", CS_EXIT_USAGE, "name a scenario file or a folder");
}

static void wrong_values_are_named_with_what_is_right(void **state) {
    (void)state;
    assert_refused("run t --policy recrd_and_fill", CS_EXIT_USAGE, "did you mean \"record_and_fill\"?");
    assert_refused("run t --policy x", CS_EXIT_USAGE, "one of none, ");
    assert_refused("run t --device rf", CS_EXIT_USAGE, "did you mean \"ref\"?");
    assert_refused("run t --color red", CS_EXIT_USAGE, "one of auto, always, never");
    assert_refused("run t --json nowhere/r.json", CS_EXIT_USAGE, "nowhere/");
    assert_refused("run t --json t", CS_EXIT_USAGE, "--json: cannot write \"t\": Is a directory");
    const char *const seeds[] = {
        "-1", "1.5", "''", "0x", "0xg", "010x", "' 1'", "18446744073709551616", "9223372036854775808"};
    for (size_t i = 0; i < CS_COUNT(seeds); i++) {
        char arguments[64];
        snprintf(arguments, sizeof arguments, "run t --seed=%s", seeds[i]);
        assert_refused(arguments, CS_EXIT_USAGE, "--seed");
    }
}

static void a_checkpoint_must_exist_in_a_scenario_and_on_disk(void **state) {
    (void)state;
    assert_refused("run t --checkpoint A", CS_EXIT_USAGE, "NAME=DIR");
    assert_refused("run t --checkpoint A=nowhere", CS_EXIT_USAGE, "No such file or directory");
    assert_refused("run t --checkpoint A=empty", CS_EXIT_USAGE,
                   "no selected scenario has a checkpoint that a folder could replace");
    assert_refused("run model.lua --checkpoint C=empty", CS_EXIT_USAGE,
                   "unknown checkpoint \"C\": did you mean \"A\"?");
    assert_refused("run model.lua --checkpoint A=empty --checkpoint A=t", CS_EXIT_USAGE, "given twice");
    coldstart("run model.lua --checkpoint A=empty");
    assert_int_equal(outcome.status, CS_EXIT_USAGE); /* there is no checkpoint in that folder */
    assert_says(outcome.err, "empty");
}

/* ---- running ---- */

static void missing_files_and_bad_scripts_stop_everything(void **state) {
    (void)state;
    assert_refused("run nowhere.lua", CS_EXIT_USAGE, "nowhere.lua");
    assert_refused("run t broken.lua", CS_EXIT_USAGE, "broken.lua:2: ");
}

static void a_filter_that_selects_nothing_is_named(void **state) {
    (void)state;
    assert_refused("run t -k xyzzy", CS_EXIT_NOTHING, "\"xyzzy\"");
    assert_refused("run empty", CS_EXIT_NOTHING, "\"empty\"");
}

static void what_passes_is_a_line_a_policy(void **state) {
    (void)state;
    coldstart("run t -k right");
    assert_string_equal(outcome.out, "PASSED  toy.right  none  ref  1 parameter equal\n"
                                     "PASSED  toy.right  record_and_fill  ref  1 parameter equal\n"
                                     "0 refused (counted as passed), 0 mistrusted (counted as failed)\n"
                                     "2 passed, 0 failed, 0 skipped\n");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
}

static void one_failure_fails_the_run(void **state) {
    (void)state;
    coldstart("run t");
    assert_int_equal(outcome.status, CS_EXIT_FAILED);
    assert_says(outcome.out, "FAILED  toy.wrong  none  ref\n  t/sub/a.lua:10: ");
    assert_says(outcome.out, "  repeat: coldstart run t/sub/a.lua -k toy.wrong --policy none --seed ");
    assert_says(outcome.out, "\n2 passed, 2 failed, 0 skipped\n");
    assert_true(strstr(outcome.out, "toy.right") < strstr(outcome.out, "toy.wrong")); /* sorted by path */
}

static void a_policy_replaces_the_list(void **state) {
    (void)state;
    coldstart("run t/b.lua --policy zero_in_loader");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_says(outcome.out, "PASSED  toy.right  zero_in_loader  ref");
    assert_says(outcome.out, "\n1 passed, 0 failed, 0 skipped\n");
}

static void the_seed_is_told_on_stderr(void **state) {
    (void)state;
    coldstart("run t/b.lua --seed 0x11");
    assert_says(outcome.err, "seed 17\n");
    coldstart("run --seed=17 -- t/b.lua");
    assert_says(outcome.err, "seed 17\n");
}

static void colour_is_for_terminals_or_on_request(void **state) {
    (void)state;
    coldstart("run t/b.lua");
    assert_null(strchr(outcome.out, '\033'));
    coldstart("run t/b.lua --color=always");
    assert_says(outcome.out, "\033[32mPASSED\033[0m");
}

static void json_alone_goes_to_stdout(void **state) {
    (void)state;
    coldstart("run t --json -");
    assert_int_equal(outcome.status, CS_EXIT_FAILED);
    json_error_t error;
    json_t *report = json_loads(outcome.out, JSON_REJECT_DUPLICATES, &error);
    if (!report) fail_msg("line %d: %s", error.line, error.text);
    assert_int_equal(json_array_size(json_object_get(report, "verdicts")), 4);
    json_decref(report);
    assert_says(outcome.err, "2 passed, 2 failed, 0 skipped\n");
}

/* The report stays in the folder of the tests: tests/python/json_schema.py validates it. */
static void json_goes_to_a_file_beside_the_text(void **state) {
    (void)state;
    char arguments[sizeof original_folder + 64];
    snprintf(arguments, sizeof arguments, "run t --json '%s/cli_test.json'", original_folder);
    coldstart(arguments);
    assert_int_equal(outcome.status, CS_EXIT_FAILED);
    assert_says(outcome.out, "2 passed, 2 failed, 0 skipped\n");
    coldstart("run t/b.lua --json /dev/full");
    assert_int_equal(outcome.status, CS_EXIT_INTERNAL);
    assert_says(outcome.err, "cannot write \"/dev/full\": No space left on device");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_verb_it_says_where_to_look),
        cmocka_unit_test(an_unknown_verb_gets_a_suggestion),
        cmocka_unit_test(the_version_is_one_line),
        cmocka_unit_test(a_report_without_a_place_is_refused_before_the_work),
        cmocka_unit_test(help_knows_every_verb),
        cmocka_unit_test(help_of_a_verb_works_from_behind),
        cmocka_unit_test(list_shows_every_registry),
        cmocka_unit_test(a_list_is_aligned_and_has_no_trailing_spaces),
        cmocka_unit_test(a_closed_or_full_stdout_is_never_silent),
        cmocka_unit_test(a_reader_that_goes_away_ends_it_quietly),
        cmocka_unit_test(a_closed_stderr_or_stdin_does_no_harm),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(wrong_values_are_named_with_what_is_right),
        cmocka_unit_test(a_checkpoint_must_exist_in_a_scenario_and_on_disk),
        cmocka_unit_test(missing_files_and_bad_scripts_stop_everything),
        cmocka_unit_test(a_filter_that_selects_nothing_is_named),
        cmocka_unit_test(what_passes_is_a_line_a_policy),
        cmocka_unit_test(one_failure_fails_the_run),
        cmocka_unit_test(a_policy_replaces_the_list),
        cmocka_unit_test(the_seed_is_told_on_stderr),
        cmocka_unit_test(colour_is_for_terminals_or_on_request),
        cmocka_unit_test(json_alone_goes_to_stdout),
        cmocka_unit_test(json_goes_to_a_file_beside_the_text),
    };
    return cmocka_run_group_tests(tests, make_scenarios, remove_scenarios);
}
