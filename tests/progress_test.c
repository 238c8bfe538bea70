/* Progress over time that passes as fast as the test likes, and what makes a repetition differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/progress.h"
#include "sim/report/report.h"

/* ---- progress ---- */

/* Shows `at` at each of the times and returns all that was printed, for free(). */
static char *shown(bool is_terminal, const struct cs_progress_at *at, const double *times, size_t n) {
    FILE *out = tmpfile();
    char *text = calloc(1, 4096);
    struct cs_progress progress;
    assert_non_null(out);
    assert_non_null(text);
    cs_progress_start(&progress, out, "scenario", 29, 100);
    assert_false(progress.is_terminal);
    progress.is_terminal = is_terminal;
    for (size_t i = 0; i < n; i++) cs_progress_show(&progress, at, 100 + times[i]);
    cs_progress_clear(&progress);
    fflush(out);
    rewind(out);
    assert_true(fread(text, 1, 4095, out) < 4095);
    fclose(out);
    return text;
}

static void assert_shown(bool is_terminal, const struct cs_progress_at *at, const double *times, size_t n, const char *expected) {
    char *text = shown(is_terminal, at, times, n);
    assert_string_equal(text, expected);
    free(text);
}

#define TIMES(...) (const double[]){__VA_ARGS__}, sizeof(double[]){__VA_ARGS__} / sizeof(double)

static const struct cs_progress_at halfway = {.n_done = 14, .share = 0.5, .bytes = 1000000000, .name = "gpt_oss.sync"};
static const struct cs_progress_at slow = {.n_done = 2, .share = 0.1, .bytes = 25000000000};

static void nothing_is_shown_of_a_quick_run(void **state) {
    (void)state;
    assert_shown(true, &halfway, TIMES(0, 0.5, 0.99), "");
    assert_shown(false, &halfway, TIMES(0, 0.5, 9.9), "");
}

static void a_terminal_has_one_line_rewritten_ten_times_a_second(void **state) {
    (void)state;
    assert_shown(true, &halfway, TIMES(0.9, 2, 2.05), "\r\033[Kscenario 15 of 29, 7.0 scenarios/s, about 2 s left: gpt_oss.sync\r\033[K");
    assert_shown(true, &halfway, TIMES(2, 7), "\r\033[Kscenario 15 of 29, 7.0 scenarios/s, about 2 s left: gpt_oss.sync"
                                              "\r\033[Kscenario 15 of 29, 2.0 scenarios/s, about 7 s left: gpt_oss.sync\r\033[K");
}

static void elsewhere_there_is_a_line_every_ten_seconds(void **state) {
    (void)state;
    assert_shown(false, &slow, TIMES(1, 5, 10, 11, 19, 25), "scenario 3 of 29, 2.50 GB/s, about 90 s left\nscenario 3 of 29, 1.00 GB/s, about 4 min left\n");
}

static void what_is_not_known_is_not_made_up(void **state) {
    (void)state;
    const struct cs_progress_at unknown = {.n_done = 0};
    assert_shown(false, &unknown, TIMES(10), "scenario 1 of 29, 0.0 scenarios/s, time left unknown\n");
    const struct cs_progress_at finished = {.n_done = 29, .share = 1};
    assert_shown(false, &finished, TIMES(10), "scenario 29 of 29, 2.9 scenarios/s, about 0 s left\n");
}

static void a_terminal_line_never_wraps(void **state) {
    (void)state;
    struct cs_progress_at at = halfway;
    char name[200] = "";
    memset(name, 'x', sizeof name - 1);
    at.name = name;
    char *text = shown(true, &at, TIMES(2));
    assert_int_equal(strlen(text), strlen("\r\033[K") + 79 + strlen("\r\033[K"));
    free(text);
}

static void without_an_output_nothing_happens(void **state) {
    (void)state;
    struct cs_progress progress;
    cs_progress_start(&progress, NULL, "scenario", 29, 100);
    cs_progress_show(&progress, &halfway, 200);
    cs_progress_clear(&progress);
}

/* ---- repetitions ---- */

static const struct cs_scenario scenario = {.file = "a.lua", .name = "a", .line = 1};

static struct cs_verdict passed(void) {
    return (struct cs_verdict){.scenario = &scenario, .device = "ref", .policy = "none", .seed = 1, .params_total = 3, .digest = 0xABC, .seconds = 1};
}

static void assert_difference(const struct cs_verdict *b, const char *expected) {
    struct cs_arena arena = {0};
    const struct cs_verdict a = passed();
    const char *difference = cs_report_difference(&a, b, &arena);
    if (expected) assert_string_equal(difference, expected);
    else assert_null(difference);
    cs_arena_release(&arena);
}

static void seconds_are_no_difference(void **state) {
    (void)state;
    struct cs_verdict again = passed();
    again.seconds = 2;
    assert_difference(&again, NULL);
}

static void status_and_counts_are(void **state) {
    (void)state;
    struct cs_verdict again = passed();
    again.count[CS_COUNT_side_moved] = 4;
    assert_difference(&again, "side_moved 0, then 4");
    again.status = CS_MISTRUSTED;
    assert_difference(&again, "passed, then mistrusted");
    again = passed();
    again.bytes_peak = 7;
    assert_difference(&again, "peak bytes 0, then 7");
}

static void other_bytes_with_the_same_counts_are(void **state) {
    (void)state;
    struct cs_verdict again = passed();
    again.digest = 0xABD;
    assert_difference(&again, "equal counts over other bytes: digest 0000000000000abc, then 0000000000000abd");
}

static void other_words_are(void **state) {
    (void)state;
    struct cs_verdict again = passed();
    again.device = "gpu";
    assert_difference(&again, "\"PASSED  a  none  ref  3 parameters equal\", then \"PASSED  a  none  gpu  3 parameters equal\"");
    again = passed();
    again.warning = "p is not registered";
    assert_difference(&again, "\"\", then \"warning: p is not registered\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_shown_of_a_quick_run),
        cmocka_unit_test(a_terminal_has_one_line_rewritten_ten_times_a_second),
        cmocka_unit_test(elsewhere_there_is_a_line_every_ten_seconds),
        cmocka_unit_test(what_is_not_known_is_not_made_up),
        cmocka_unit_test(a_terminal_line_never_wraps),
        cmocka_unit_test(without_an_output_nothing_happens),
        cmocka_unit_test(seconds_are_no_difference),
        cmocka_unit_test(status_and_counts_are),
        cmocka_unit_test(other_bytes_with_the_same_counts_are),
        cmocka_unit_test(other_words_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
