#include "sim/cli/cli.h"

#include <jansson.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bench/bench.h"
#include "sim/cli/bench_peer.h"

/* clang-format off */
const struct cs_option cs_bench_cli_options[] = {
    {.name = "device", .value = "NAME", .text = "device that does the byte work (default: ref)"},
    {.name = "filter", .letter = 'k', .value = "SUBSTRING", .text = "only rows whose name contains it"},
    {.name = "size", .value = "BYTES", .text = "of each of two buffers, such as 1GiB (default: 256MiB); not of bench fuzz"},
    {.name = "threads", .value = "N", .text = "threads of the device and of the yardsticks (default: all); not of bench fuzz, which has one"},
    {.name = "json", .value = "FILE", .text = "write the rows as JSON too; \"-\": to stdout, and the table to stderr", .use = CS_SHOWN},
    {.name = "peer", .value = "COMMAND", .text = "of bench fuzz: runs it with --json FILE, as tests/peer/reload_peer.py takes it, and compares with what it measured"},
    {.name = "check", .text = "exit status 1 when a goal is missed"},
    {0},
};
/* clang-format on */

enum { DEFAULT_BYTES = 256 << 20, MOST_THREADS = 1024 };

/* One run of the verb. */
struct run {
    struct cs_options given;
    struct cs_bench_options options;
    const char *json;
    FILE *text;
    json_t *rows;
    size_t n_slow;
    bool is_of_fuzz; /* orderings a second instead */
    json_t *peers;   /* what the peer measured; NULL: it was not asked */
    bool had_no_memory;
};

/* ---- settings ---- */

static enum cs_status set_device(struct cs_bench_options *options, const char *name) {
    const char *names[16];
    size_t n = 0;
    for (; n < cs_n_devices && n < CS_COUNT(names); n++) names[n] = cs_devices[n]->name;
    options->device = cs_device_by_name(name);
    if (!options->device) return cs_cli_unknown("device", name, names, n);
    const char *why = options->device->unavailable ? options->device->unavailable() : "";
    CS_REQUIRE(!*why, CS_UNSUPPORTED, "device \"%s\" is not available: %s", name, why);
    return CS_OK;
}

static enum cs_status set_size(struct cs_bench_options *options, const char *text) {
    options->bytes = DEFAULT_BYTES;
    if (!text) return CS_OK;
    CS_TRY(cs_text_bytes(text, &options->bytes));
    CS_REQUIRE(options->bytes >= CS_BENCH_LEAST, CS_BAD_USAGE, "--size %s: nothing can be measured below %d bytes",
               text, CS_BENCH_LEAST);
    return CS_OK;
}

static enum cs_status set_threads(const char *text) {
    if (!text) return CS_OK;
    size_t n = strspn(text, "0123456789");
    long threads = n > 0 && n < 8 && !text[n] ? strtol(text, NULL, 10) : 0;
    CS_REQUIRE(threads >= 1 && threads <= MOST_THREADS, CS_BAD_USAGE,
               "--threads wants a number from 1 to %d, found \"%s\"", MOST_THREADS, text);
    omp_set_num_threads((int)threads);
    return CS_OK;
}

/* Orderings have sizes of their own, and are of one thread. */
static enum cs_status refuse_idle(const struct run *run) {
    static const char *const idle[] = {"size", "threads"};
    for (size_t i = 0; run->is_of_fuzz && i < CS_COUNT(idle); i++)
        CS_REQUIRE(!cs_options_value(&run->given, idle[i]), CS_BAD_USAGE,
                   "--%s does nothing in bench fuzz, whose models have their sizes and run on one thread: leave it out",
                   idle[i]);
    return CS_OK;
}

static enum cs_status read_settings(struct run *run, int argc, char **argv, struct cs_arena *arena) {
    CS_TRY(cs_options_parse(&run->given, cs_bench_cli_options, argc, argv, arena));
    run->is_of_fuzz = run->given.n_words == 1 && cs_text_equal(run->given.words[0], "fuzz");
    CS_REQUIRE(run->given.n_words == 0 || run->is_of_fuzz, CS_BAD_USAGE,
               "bench takes options only, or the word fuzz, found \"%s\"", run->given.words[0]);
    CS_REQUIRE(run->is_of_fuzz || !cs_options_value(&run->given, "peer"), CS_BAD_USAGE,
               "--peer is of bench fuzz: only orderings have a peer that is a command");
    CS_TRY(refuse_idle(run));
    const char *device = cs_options_value(&run->given, "device");
    run->json = cs_options_value(&run->given, "json");
    run->text = run->json && cs_text_equal(run->json, "-") ? stderr : stdout;
    run->options.filter = cs_options_value(&run->given, "filter");
    CS_TRY(set_device(&run->options, device ? device : "ref"));
    CS_TRY(set_size(&run->options, cs_options_value(&run->given, "size")));
    return set_threads(cs_options_value(&run->given, "threads"));
}

/* ---- table ---- */

#define WIDTHS "%-40s  %14s  %9s  %8s  %6s  %-12s  %4s  %s\n"

static void print_header(const struct run *run) {
    fprintf(run->text,
            "device %s, %" PRIu64 " bytes a buffer, %d threads, best of %d. GB/s: bytes read + written; share: of the "
            "yardstick's rate, measured in "
            "turn with the row\n\n",
            run->options.device->name, run->options.bytes, omp_get_max_threads(), CS_BENCH_REPEATS);
    fprintf(run->text, WIDTHS, "what", "bytes", "ms", "GB/s", "share", "of", "goal", "");
}

static void print_row(FILE *text, const struct cs_bench_result *result) {
    char bytes[32], time[32], speed[32], share[32] = "", goal[32] = "";
    snprintf(bytes, sizeof bytes, "%" PRId64, result->bytes);
    snprintf(time, sizeof time, "%.3f", result->seconds * 1e3);
    snprintf(speed, sizeof speed, "%.2f", result->rate / 1e9);
    if (result->yardstick) snprintf(share, sizeof share, "%.0f %%", 100 * result->share);
    if (result->goal > 0) snprintf(goal, sizeof goal, "%.0f %%", 100 * result->goal);
    const char *verdict = result->goal > 0 ? (cs_bench_is_slow(result) ? "slow" : "ok") : "-";
    fprintf(text, WIDTHS, result->what, bytes, time, speed, share, result->yardstick ? result->yardstick : "-", goal,
            verdict);
    fflush(text); /* rows take seconds: each shows as it comes */
}

/* ---- JSON ---- */

static json_t *share_or_null(double share) { return share > 0 ? json_real(share) : json_null(); }

static json_t *json_of(const struct cs_bench_result *result) {
    return json_pack("{s:s, s:I, s:f, s:f, s:s?, s:o, s:o, s:b}", "what", result->what, "bytes",
                     (json_int_t)result->bytes, "seconds", result->seconds, "bytes_per_second", result->rate,
                     "yardstick", result->yardstick, "share", share_or_null(result->share), "goal",
                     share_or_null(result->goal), "slow", cs_bench_is_slow(result));
}

static void show(void *context, const struct cs_bench_result *result) {
    struct run *run = context;
    print_row(run->text, result);
    run->n_slow += cs_bench_is_slow(result);
    if (run->json && json_array_append_new(run->rows, json_of(result)) != 0) run->had_no_memory = true;
}

/* Orderings have no buffers, and are not repeated a set number of times. */
static json_t *report_of(const struct run *run) {
    const char *device = run->options.device->name;
    if (run->is_of_fuzz)
        return json_pack("{s:i, s:s, s:i, s:O}", "schema", 1, "device", device, "threads", omp_get_max_threads(),
                         "rows", run->rows);
    return json_pack("{s:i, s:s, s:I, s:i, s:i, s:O}", "schema", 1, "device", device, "size",
                     (json_int_t)run->options.bytes, "threads", omp_get_max_threads(), "repeats", CS_BENCH_REPEATS,
                     "rows", run->rows);
}

static enum cs_status write_json(const struct run *run) {
    json_t *report = report_of(run);
    enum cs_status status = cs_write_json(run->json, run->had_no_memory ? NULL : report, JSON_INDENT(2));
    json_decref(report);
    return status;
}

/* ---- the verb ---- */

static enum cs_status measure(struct run *run) {
    if (run->json) run->rows = json_array();
    print_header(run);
    CS_TRY(cs_bench(&run->options, show, run));
    return run->json ? write_json(run) : CS_OK;
}

/* ---- orderings ---- */

/* What is known of the peer's speed on a row, and the least that is asked of ours. */
static double peer_of(const struct run *run, const struct cs_bench_ordering *result) {
    return run->peers ? cs_bench_peer_rate(run->peers, result->what) : result->peer;
}

static double goal_of(const struct run *run, const struct cs_bench_ordering *result) {
    double peer = peer_of(run, result);
    return peer > 0 && result->times > 0 ? peer * result->times : result->goal;
}

static json_t *json_of_ordering(const struct run *run, const struct cs_bench_ordering *result) {
    double peer = peer_of(run, result), goal = goal_of(run, result);
    return json_pack("{s:s, s:f, s:o, s:b, s:o, s:b}", "what", result->what, "per_second", result->rate,
                     "peer_per_second", share_or_null(peer), "peer_measured", run->peers && peer > 0, "goal",
                     share_or_null(goal), "slow", result->rate < goal);
}

static void show_ordering(void *context, const struct cs_bench_ordering *result) {
    struct run *run = context;
    char text[64] = "-", goal_text[24] = "-";
    double peer = peer_of(run, result), goal = goal_of(run, result);
    if (peer > 0)
        snprintf(text, sizeof text, "%.1f %s, %.0f times", peer, run->peers ? "measured" : "published",
                 result->rate / peer);
    if (goal > 0) snprintf(goal_text, sizeof goal_text, "%.0f", goal);
    fprintf(run->text, "%-40s  %10.0f  %-26s  %6s  %s\n", result->what, result->rate, text, goal_text,
            result->rate < goal ? "slow" : "ok");
    fflush(run->text);
    run->n_slow += result->rate < goal;
    if (run->json && json_array_append_new(run->rows, json_of_ordering(run, result)) != 0) run->had_no_memory = true;
}

/* Rows whose goal is a multiple of the peer's speed need that speed; others may lack it. */
static enum cs_status ask_peer(struct run *run, const char *command) {
    struct cs_bench_ordering row;
    CS_TRY(cs_bench_peer_run(command, CS_BENCH_PEER_SECONDS, &run->peers));
    for (size_t i = 0; cs_bench_ordering_row(run->options.filter, i, &row); i++)
        if (row.times > 0) CS_TRY(cs_bench_peer_require(command, run->peers, row.what));
    return CS_OK;
}

static enum cs_status measure_orderings(struct run *run) {
    const char *peer = cs_options_value(&run->given, "peer");
    if (peer) CS_TRY(ask_peer(run, peer));
    if (run->json) run->rows = json_array();
    omp_set_num_threads(1);
    fprintf(
        run->text,
        "orderings a second, one thread, device %s: build, load A, post-load, reload B, compare with a kept state\n",
        run->options.device->name);
    fprintf(run->text,
            peer ? "peer: measured in this run, before: %s\n\n"
                 : "peer: published figures, of another machine%s; --peer 'PYTHON tests/peer/reload_peer.py' measures "
                   "it on this one\n\n",
            peer ? peer : "");
    fprintf(run->text, "%-40s  %10s  %-26s  %6s\n", "model", "a second", "peer", "goal");
    CS_TRY(cs_bench_orderings(run->options.device, run->options.filter, show_ordering, run));
    return run->json ? write_json(run) : CS_OK;
}

static bool has_rows(const struct run *run) {
    struct cs_bench_ordering row;
    return run->is_of_fuzz ? cs_bench_ordering_row(run->options.filter, 0, &row) : cs_bench_count(&run->options) > 0;
}

static int run_all(struct run *run, int argc, char **argv, struct cs_arena *arena) {
    enum cs_status status = read_settings(run, argc, argv, arena);
    if (status == CS_OK && !has_rows(run)) {
        fprintf(stderr, "coldstart: nothing ran: no row's name contains \"%s\"\n", run->options.filter);
        return CS_EXIT_NOTHING;
    }
    if (status == CS_OK) status = run->is_of_fuzz ? measure_orderings(run) : measure(run);
    if (status != CS_OK) return cs_cli_fail(status);
    bool is_checking = cs_options_value(&run->given, "check") != NULL;
    return is_checking && run->n_slow > 0 ? CS_EXIT_FAILED : CS_EXIT_PASSED;
}

int cs_verb_bench(int argc, char **argv) {
    struct cs_arena arena = {0};
    struct run run = {0};
    int status = run_all(&run, argc, argv, &arena);
    json_decref(run.rows);
    json_decref(run.peers);
    cs_arena_release(&arena);
    return status;
}
