/* `coldstart bench`: what it prints and how it ends. How fast anything is, no test can promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>
#include <jansson.h>

#include "sim/bench/bench.h"
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
    assert_int_equal(bench("fuzz -k minimal --device emu"), 0);
    assert_says(out, "device emu");
}

/* A peer's program is any command that takes --json FILE: its speed, measured in this run, stands beside ours, and ours
 * must be ten times as high. */
static void the_peer_is_measured_in_the_same_run(void **state) {
    char arguments[512];
    const char *peer = path_in(*state, "peer.sh");
    FILE *file = fopen(peer, "w");
    fputs("echo measuring\n"
          "printf '{\"rows\": [{\"model\": \"%s\", \"per_second\": %s}]}' \"$ROW\" \"$RATE\" >\"$2\"\n", file);
    fclose(file);
    snprintf(arguments, sizeof arguments, "fuzz -k trtllm --check --peer \"ROW='bf16 trtllm, 8 experts, 512 x 256' RATE=0.25 sh '%s'\" --json -", peer);
    assert_int_equal(bench(arguments), 0);
    assert_says(out, "peer: measured in this run, before: ROW=");
    assert_says(out, "measuring");
    assert_says(out, "0.2 measured, ");
    assert_says(out, "\"peer_measured\": true");
    assert_says(out, "\"peer_per_second\": 0.25");
    assert_says(out, "\"goal\": 2.5");
    snprintf(arguments, sizeof arguments, "fuzz -k trtllm --check --peer \"ROW='bf16 trtllm, 8 experts, 512 x 256' RATE=1e9 sh '%s'\"", peer);
    assert_int_equal(bench(arguments), 1);
    assert_says(out, "slow");
    snprintf(arguments, sizeof arguments, "fuzz -k minimal --peer \"ROW=another RATE=1.5 sh '%s'\" --json -", peer);
    assert_int_equal(bench(arguments), 0);
    assert_says(out, "\"peer_per_second\": null");
    assert_says(out, "\"goal\": 4000");
    assert_int_equal(bench("fuzz -k minimal"), 0);
    assert_says(out, "peer: published figures, of another machine; --peer");
}

static void a_peer_that_measures_nothing_is_refused(void **state) {
    static const struct { const char *script, *message; } rows[] = {
        {"exit 3", "it ended with exit status 3: nothing was measured"},
        {"kill -9 $$", "it ended with exit status 137: nothing was measured"},
        {"true", "its --json file has no rows of \"model\" and \"per_second\""},
        {"echo '{\"rows\": [{\"model\": \"x\"}]}' >\"$2\"", "has no rows of"},
        {"echo '{\"rows\": [{\"model\": 1, \"per_second\": 2.5}]}' >\"$2\"", "has no rows of"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        char arguments[512];
        const char *peer = path_in(*state, "peer.sh");
        FILE *file = fopen(peer, "w");
        fputs(rows[i].script, file);
        fclose(file);
        snprintf(arguments, sizeof arguments, "fuzz -k minimal --peer \"sh '%s'\"", peer);
        assert_int_equal(bench(arguments), 2);
        assert_says(out, rows[i].message);
    }
    setenv("TMPDIR", "/no/such/folder", 1);
    assert_int_equal(bench("fuzz -k minimal --peer true"), 2);
    assert_says(out, "set TMPDIR to a folder that can be written");
    unsetenv("TMPDIR");
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
        cmocka_unit_test_setup_teardown(the_peer_is_measured_in_the_same_run, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(a_peer_that_measures_nothing_is_refused, make_test_folder, remove_test_folder),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(only_check_judges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
