/* `coldstart bench`: what it prints and how it ends. How fast anything is, no test can promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "sim/bench/bench.h"
#include "sim/cli/bench_peer.h"
#include "tests/support_files.h"
#include "tests/support_session.h"

static char out[1 << 16];

/* Runs "coldstart bench ARGUMENTS"; its exit status. What it prints on both streams is in `out`. */
static int bench(const char *arguments) {
    char command[4096];
    snprintf(command, sizeof command, "'%s' bench %s 2>&1", COLDSTART, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, sizeof out - 1, pipe)] = '\0';
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_row_names_its_yardstick(void **state) {
    (void)state;
    assert_int_equal(bench("--size 64KiB -k compare --threads 1"), 0);
    assert_says(out, "device ref, 65536 bytes a buffer, 1 threads, best of 5");
    assert_says(out, "compare ");
    assert_says(out, "memcmp ");
    assert_null(strstr(out, "digest"));
}

/* A device with memory of its own is held against itself; an emulated one has no goals. */
static void devices_have_yardsticks_of_their_own(void **state) {
    (void)state;
    assert_int_equal(bench("--device emu --size 64KiB -k compare --threads 1 --check"), 0);
    assert_says(out, "device read ");
    assert_null(strstr(out, "slow"));
    assert_int_equal(bench("--device emu --size 64KiB -k 'fill runs of 96' --threads 1 --check"), 0);
    assert_says(out, "device write ");
    assert_int_equal(bench("--device emu --size 64KiB -k 'generate garbage' --threads 1"), 0);
    assert_says(out, "device hash ");
    assert_int_equal(bench("--device emu --size 64KiB -k 'post-load unquantized, flashinfer_trtllm' --threads 1"), 0);
    assert_says(out, "device copy ");
    assert_int_equal(bench("--device emu --size 64KiB -k padding --threads 1"), 0);
    assert_says(out, "device runs ");
    assert_int_equal(bench("--size 64KiB -k padding --threads 1"), 0);
    assert_says(out, "same runs ");
}

static void every_row_runs_small(void **state) {
    (void)state;
    const struct cs_bench_options all = {0};
    assert_int_equal(bench("--size 128KiB --json -"), 0);
    json_t *report = json_loads(strstr(out, "{\n"), JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(report);
    assert_int_equal(json_array_size(json_object_get(report, "rows")), cs_bench_count(&all));
    json_decref(report);
}

static void json_has_every_column(void **state) {
    char arguments[512];
    json_error_t error;
    snprintf(arguments, sizeof arguments, "--size 256KiB -k 'generate u8' --json '%s'", path_in(*state, "bench.json"));
    assert_int_equal(bench(arguments), 0);
    json_t *report = json_load_file(path_in(*state, "bench.json"), 0, &error);
    if (!report) fail_msg("%s", error.text);
    const char *what, *yardstick, *device;
    json_int_t bytes, size;
    double seconds, rate, share, goal;
    int slow, unpacked = json_unpack(report, "{s:s, s:I, s:[{s:s, s:s, s:I, s:F, s:F, s:F, s:F, s:b}]}", "device", &device, "size", &size, "rows", "what", &what,
                                     "yardstick", &yardstick, "bytes", &bytes, "seconds", &seconds, "bytes_per_second", &rate, "share", &share, "goal", &goal,
                                     "slow", &slow);
    assert_int_equal(unpacked, 0);
    assert_string_equal(device, "ref");
    assert_string_equal(what, "generate u8 hash");
    assert_string_equal(yardstick, "counter hash");
    assert_int_equal(bytes, 256 << 10);
    assert_int_equal(size, 256 << 10);
    assert_true(seconds > 0 && rate > 0 && share > 0 && goal == 0.8);
    assert_int_equal(slow, share < goal);
    json_decref(report);
}

/* compressed-tensors' packed weights stay parameters under two names, and its divisors stay though no kernel reads them: what is
 * moved is each weight once. Two experts of 256 x 256: w13, w2, their scales for 16 elements each, there and back; second-level and
 * activation scales, of which those of w2 and w13 remain as one for each expert. */
static void bytes_that_have_two_names_count_once(void **state) {
    (void)state;
    char expected[64];
    int weights = 2 * (512 * 128 + 256 * 128 + 512 * 16 + 256 * 16), before = 4 * (4 + 2 + 4 + 2), after = 4 * (2 + 2);
    snprintf(expected, sizeof expected, "\"bytes\": %d,", 2 * weights + before + after);
    assert_int_equal(bench("--size 64KiB -k 'post-load nvfp4_ct, marlin' --json -"), 0);
    assert_says(out, expected);
}

/* Orderings a second: one row for each model that is asked for. */
static void orderings_are_measured(void **state) {
    (void)state;
    assert_int_equal(bench("fuzz -k minimal"), 0);
    assert_says(out, "orderings a second, one thread, device ref");
    const char *row = strstr(out, "bf16 minimal, 2 experts, 64 x 64");
    assert_non_null(row);
    assert_true(atof(row + strlen("bf16 minimal, 2 experts, 64 x 64")) > 1);
    assert_null(strstr(out, "trtllm"));
}

/* They have no buffers and no number of repeats: the report says neither. */
static void a_report_of_orderings_says_only_what_they_have(void **state) {
    (void)state;
    assert_int_equal(bench("fuzz -k minimal --device emu --json -"), 0);
    assert_says(out, "device emu");
    json_t *report = json_loads(strstr(out, "{\n"), JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(report);
    assert_int_equal(json_object_size(report), 4);
    assert_int_equal(json_integer_value(json_object_get(report, "schema")), 1);
    assert_string_equal(json_string_value(json_object_get(report, "device")), "emu");
    assert_int_equal(json_integer_value(json_object_get(report, "threads")), 1);
    assert_int_equal(json_array_size(json_object_get(report, "rows")), 1);
    json_decref(report);
}

/* ---- the peer ---- */

/* Its path. "$1" of the script is --json, "$2" the file. */
static const char *write_peer(void **state, const char *script) {
    const char *peer = path_in(*state, "peer.sh");
    FILE *file = fopen(peer, "w");
    assert_non_null(file);
    fputs(script, file);
    fclose(file);
    return peer;
}

/* "coldstart bench fuzz ARGUMENTS --peer SETTINGS sh PEER"; its exit status. */
static int bench_fuzz(const char *arguments, const char *settings, const char *peer) {
    char all[2048];
    snprintf(all, sizeof all, "fuzz %s --peer \"%s sh '%s'\"", arguments, settings, peer);
    return bench(all);
}

static size_t n_files_in(const char *folder) {
    size_t n = 0;
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    for (struct dirent *entry; (entry = readdir(opened));) n += entry->d_name[0] != '.';
    closedir(opened);
    return n;
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static const char one_row[] = "echo measuring\n"
                              "printf '{\"rows\": [{\"model\": \"%s\", \"per_second\": %s}]}' \"$ROW\" \"$RATE\" >\"$2\"\n";

/* A peer's program is any command that takes --json FILE: its speed, measured in this run, stands beside ours, and ours
 * must be ten times as high. */
static void the_peer_is_measured_in_the_same_run(void **state) {
    const char *peer = write_peer(state, one_row);
    assert_int_equal(bench_fuzz("-k trtllm --check --json -", "ROW='bf16 trtllm, 8 experts, 512 x 256' RATE=0.25", peer), 0);
    assert_says(out, "peer: measured in this run, before: ROW=");
    assert_says(out, "measuring");
    assert_says(out, "0.2 measured, ");
    assert_says(out, "\"peer_measured\": true");
    assert_says(out, "\"peer_per_second\": 0.25");
    assert_says(out, "\"goal\": 2.5");
    assert_int_equal(bench_fuzz("-k trtllm --check", "ROW='bf16 trtllm, 8 experts, 512 x 256' RATE=1e9", peer), 1);
    assert_says(out, "slow");
    assert_int_equal(bench("fuzz -k minimal"), 0);
    assert_says(out, "peer: published figures, of another machine; --peer");
}

/* A row whose goal is a multiple of the peer's speed has no goal without it; the smallest has one of its own. */
static void a_peer_that_measured_other_rows_is_refused(void **state) {
    const char *peer = write_peer(state, one_row), *report = path_in(*state, "report.json");
    char arguments[512];
    snprintf(arguments, sizeof arguments, "-k trtllm --check --json '%s'", report);
    assert_int_equal(bench_fuzz(arguments, "ROW='another' RATE=1.5", peer), 2);
    assert_says(out, "it did not measure \"bf16 trtllm, 8 experts, 512 x 256\", but \"another\": leave that row out with --filter");
    assert_null(strstr(out, "orderings a second"));
    assert_false(exists(report));
    assert_int_equal(bench_fuzz("", "ROW='bf16 trtllm, 8 experts, 512 x 256' RATE=1.5", peer), 2);
    assert_says(out, "it did not measure \"bf16, 8 experts, 512 x 256\", but \"bf16 trtllm, 8 experts, 512 x 256\"");
    assert_int_equal(bench_fuzz("-k minimal --json -", "ROW=another RATE=1.5", peer), 0);
    assert_says(out, "\"peer_per_second\": null");
    assert_says(out, "\"goal\": 4000");
    write_peer(state, "echo '{\"rows\": [{\"model\": \"x\", \"per_second\": 1}, {\"model\": \"y\", \"per_second\": 2}]}' >\"$2\"");
    assert_int_equal(bench_fuzz("-k gpt-oss", "", peer), 2);
    assert_says(out, "it did not measure \"gpt-oss, 4 experts, padded 256 x 128\", but \"x\", \"y\"");
}

static void rates_that_cannot_be_are_refused(void **state) {
    static const struct { const char *rate, *found; } rows[] = {
        {"1e308", "is 1e308"}, {"-5", "is -5"}, {"0", "is 0"}, {"1e-320", "is 9.99989e-321"}, {"\\\"fast\\\"", "is \"fast\""},
        {"null", "is null"}, {"1000000001", "is 1000000001"}, {"0.00099", "is 0.00099"}, {"[2]", "is [2]"},
    };
    const char *peer = write_peer(state, one_row);
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        char settings[128];
        snprintf(settings, sizeof settings, "ROW='some model' RATE='%s'", rows[i].rate);
        assert_int_equal(bench_fuzz("-k minimal", settings, peer), 2);
        assert_says(out, "\"per_second\" of \"some model\" in its --json file ");
        assert_says(out, rows[i].found);
        assert_says(out, ", expected a number of orderings a second from 0.001 to 1e+09");
    }
    /* What JSON has no word for, it cannot hand over: the line is named. */
    static const char *const words[] = {"NaN", "Infinity", "1e999", "2.5x", ""};
    for (size_t i = 0; i < CS_COUNT(words); i++) {
        char settings[128];
        snprintf(settings, sizeof settings, "ROW='some model' RATE='%s'", words[i]);
        assert_int_equal(bench_fuzz("-k minimal", settings, peer), 2);
        assert_says(out, "its --json file cannot be used: ");
        assert_says(out, ":1: ");
        assert_says(out, "expected \"rows\" of \"model\" and \"per_second\", a number from 0.001 to 1e+09");
    }
    json_t *found;
    setenv("ROW", "some model", 1), setenv("RATE", "0.001", 1);
    snprintf(out, sizeof out, "sh '%s'", peer);
    assert_int_equal(cs_bench_peer_run(out, 60, &found), CS_OK);
    assert_true(cs_bench_peer_rate(found, "some model") == 0.001 && cs_bench_peer_rate(found, "some") == 0);
    unsetenv("ROW"), unsetenv("RATE");
    json_decref(found);
}

static void a_peer_that_measures_nothing_is_refused(void **state) {
    static const struct { const char *script, *message; } rows[] = {
        {"exit 3", "it ended with exit status 3: nothing was measured"},
        {"true", "its --json file cannot be used: "},
        {"echo '{\"rows\": []}' >\"$2\"", "\"rows\" of its --json file is [], expected a list of rows"},
        {"echo '{\"rows\": 7}' >\"$2\"", "\"rows\" of its --json file is 7, expected a list of rows"},
        {"echo '[]' >\"$2\"", "\"rows\" of its --json file is missing, expected a list of rows"},
        {"rm \"$2\"", "No such file or directory"},
        {"echo '{\"rows\": [{\"model\": \"x\"}]}' >\"$2\"", "\"per_second\" of \"x\" in its --json file is missing"},
        {"echo '{\"rows\": [3]}' >\"$2\"", "\"model\" of row 1 of its --json file is missing, expected a text"},
        {"echo '{\"rows\": [{\"model\": 1, \"per_second\": 2.5}]}' >\"$2\"", "\"model\" of row 1 of its --json file is 1, expected a text"},
        {"echo '{\"rows\": [{\"model\": \"x\", \"per_second\": 2.5, \"per_second\": 3}]}' >\"$2\"", "duplicate object key"},
        {"echo '{\"rows\": [{\"model\": \"x\", \"per_second\": 2}, {\"model\": \"y\", \"per_second\": 2}, {\"model\": \"x\", \"per_second\": 3}]}' >\"$2\"",
         "rows 1 and 3 of its --json file are both of \"x\", expected each model once"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        assert_int_equal(bench_fuzz("-k minimal", "", write_peer(state, rows[i].script)), 2);
        assert_says(out, rows[i].message);
    }
    json_t *found = NULL;
    assert_int_equal(cs_bench_peer_run("kill -9 $$;", 60, &found), CS_BAD_USAGE);
    assert_says(cs_error_text(), "--peer kill -9 $$;: it ended with signal 9: nothing was measured");
    assert_null(found);
    setenv("TMPDIR", "/no/such/folder", 1);
    assert_int_equal(bench("fuzz -k minimal --peer true"), 2);
    assert_says(out, "set TMPDIR to a folder that can be written");
    unsetenv("TMPDIR");
}

/* The command is any line of a shell, and the file's name any name; what it prints is no result of ours. */
static void the_command_is_a_line_of_a_shell(void **state) {
    char folder[512], arguments[2048];
    const char *peer = write_peer(state, "read line && exit 9\n"
                                         "echo '{\"rows\": [{\"model\": \"x\", \"per_second\": 1}]}' >\"$2\"");
    snprintf(folder, sizeof folder, "%s", path_in(*state, "it's \"a\" $folder"));
    assert_int_equal(mkdir(folder, 0700), 0);
    setenv("TMPDIR", folder, 1);
    snprintf(arguments, sizeof arguments, "fuzz -k minimal --json - --peer \"echo said first; cd /; sh '%s'\" 2>/dev/null; exit $?", peer);
    assert_int_equal(bench(arguments), 0);
    assert_null(strstr(out, "said first"));
    assert_int_equal(out[0], '{');
    assert_int_equal(n_files_in(folder), 0);
    unsetenv("TMPDIR");
    assert_int_equal(bench("fuzz -k minimal --peer ''"), 2);
    assert_says(out, "--peer wants a command, such as 'python tests/peer/reload_peer.py', found \"\"");
    assert_int_equal(bench("fuzz -k minimal --peer '  '"), 2);
    assert_says(out, "--peer wants a command");
}

/* Nothing that it started outlives it: a process that holds the other end of the pipe would make the reader wait. */
static void a_peer_that_takes_too_long_is_ended(void **state) {
    int ends[2];
    char byte;
    json_t *found = NULL;
    assert_int_equal(pipe(ends), 0);
    setenv("TMPDIR", *state, 1);
    time_t begin = time(NULL);
    assert_int_equal(cs_bench_peer_run("sleep 50 & trap '' TERM; sleep 50; sleep 50 #", 1, &found), CS_BAD_USAGE);
    assert_says(cs_error_text(), "it was ended after 1 seconds: nothing was measured");
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    assert_true(time(NULL) - begin < 30);
    assert_null(found);
    assert_int_equal(n_files_in(*state), 0);
    unsetenv("TMPDIR");
}

static void wait_until_exists(const char *path) {
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    for (int i = 0; i < 1500 && !exists(path); i++) nanosleep(&pause, NULL);
    assert_true(exists(path));
}

/* Whoever ends coldstart ends what it started, and no file stays. */
static void a_signal_ends_the_peer_too(void **state) {
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    char started[512], command[1024], folder[512], byte;
    snprintf(started, sizeof started, "%s", path_in(*state, "started"));
    snprintf(folder, sizeof folder, "%s", path_in(*state, "files"));
    snprintf(command, sizeof command, "trap '' TERM INT HUP; sleep 50 & : >'%s'; sleep 50; sleep 50 #", started);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < CS_COUNT(signals); i++) {
        int ends[2], status;
        time_t begin = time(NULL);
        assert_int_equal(pipe(ends), 0);
        pid_t pid = fork();
        if (pid == 0) {
            signal(signals[i], SIG_DFL);
            setenv("TMPDIR", folder, 1);
            execl(COLDSTART, COLDSTART, "bench", "fuzz", "-k", "minimal", "--peer", command, (char *)NULL);
            _exit(127);
        }
        close(ends[1]);
        wait_until_exists(started);
        kill(pid, signals[i]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        assert_int_equal(read(ends[0], &byte, 1), 0); /* no process holds the other end */
        close(ends[0]);
        assert_true(time(NULL) - begin < 40);
        assert_int_equal(n_files_in(folder), 0);
        unlink(started);
    }
}

/* What would measure nothing is known before the peer is run, and writes no report. */
static void no_peer_runs_for_no_rows(void **state) {
    char arguments[1024];
    const char *ran = path_in(*state, "ran"), *report = path_in(*state, "report.json");
    snprintf(arguments, sizeof arguments, "fuzz -k no_such_row --json '%s' --peer \": >'%s'; true\"", report, ran);
    assert_int_equal(bench(arguments), 4);
    assert_says(out, "coldstart: nothing ran: no row's name contains \"no_such_row\"");
    assert_false(exists(ran));
    assert_false(exists(report));
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    static const struct { const char *arguments; int status; const char *message; } rows[] = {
        {"-k no_such_row", 4, "coldstart: nothing ran: no row's name contains \"no_such_row\""},
        {"--size 1KiB", 2, "--size 1KiB: nothing can be measured below 65536 bytes"},
        {"--size lots", 2, "lots"},
        {"--threads 0", 2, "--threads wants a number from 1 to 1024, found \"0\""},
        {"--threads 2x", 2, "found \"2x\""},
        {"--device reff", 2, "unknown device \"reff\": did you mean \"ref\"?"},
        {"fuzz -k no_such_row", 4, "coldstart: nothing ran: no row's name contains \"no_such_row\""},
        {"--peer true", 2, "--peer is of bench fuzz"},
        {"fuzz --size 64KiB", 2, "--size does nothing in bench fuzz, whose models have their sizes and run on one thread: leave it out"},
        {"fuzz --threads 2", 2, "--threads does nothing in bench fuzz"},
        {"memcpy", 2, "bench takes options only, or the word fuzz, found \"memcpy\""},
        {"--size 64KiB -k memcpy --json no/such/folder.json", 2, "cannot write \"no/such/folder.json\""},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        int status = bench(rows[i].arguments);
        if (status != rows[i].status) fail_msg("%s: exit status %d: %s", rows[i].arguments, status, out);
        assert_says(out, rows[i].message);
    }
}

/* Without --check nothing is judged; with it, rows that have no goal cannot miss one. */
static void only_check_judges(void **state) {
    (void)state;
    assert_int_equal(bench("--size 64KiB -k marlin"), 0);
    assert_int_equal(bench("--size 64KiB -k digest --check"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_names_its_yardstick),
        cmocka_unit_test(every_row_runs_small),
        cmocka_unit_test(devices_have_yardsticks_of_their_own),
        cmocka_unit_test_setup_teardown(json_has_every_column, make_test_folder, remove_test_folder),
        cmocka_unit_test(bytes_that_have_two_names_count_once),
        cmocka_unit_test(orderings_are_measured),
        cmocka_unit_test(a_report_of_orderings_says_only_what_they_have),
        cmocka_unit_test_setup_teardown(the_peer_is_measured_in_the_same_run, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(a_peer_that_measured_other_rows_is_refused, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(rates_that_cannot_be_are_refused, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(a_peer_that_measures_nothing_is_refused, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(the_command_is_a_line_of_a_shell, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(a_peer_that_takes_too_long_is_ended, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(a_signal_ends_the_peer_too, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(no_peer_runs_for_no_rows, make_test_folder, remove_test_folder),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(only_check_judges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
