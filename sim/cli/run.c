#include "sim/cli/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/cli.h"
#include "sim/report/report.h"

const struct cs_option cs_run_options[] = {
    {"device", 0, "ref|auto", false, "the device that does the byte work; auto: the best one that is there (default: ref)"},
    {"policy", 0, "P", false, "run under this padding policy instead of the scenario's"},
    {"checkpoint", 0, "NAME=DIR", true, "take the scenario's checkpoint NAME from a folder"},
    {"seed", 0, "N", false, "seed of garbage and shuffling, decimal or 0x… (default: the scenario's)"},
    {"filter", 'k', "SUBSTRING", false, "only scenarios whose name contains it"},
    {"json", 0, "FILE", false, "write the JSON report too; \"-\": to stdout, and the text to stderr"},
    {"color", 0, "auto|always|never", false, "colour the text; auto: on a terminal, unless NO_COLOR is set"},
    {0},
};

/* One run of the verb. */
struct run {
    struct cs_arena arena;
    struct cs_options options;
    const struct cs_device *device; /* NULL: auto */
    const char *policy;             /* NULL: the scenario's */
    bool has_seed, is_coloured, shows_progress;
    uint64_t seed;
    FILE *text;
    struct cs_scenarios scenarios;
    size_t n_verdicts, capacity, n_planned; /* n_planned: verdicts that there will be, for progress */
    struct cs_verdict *verdicts;
    struct cs_report_totals totals;
};

/* ---- settings ---- */

static enum cs_status set_device(struct run *run, const char *name) {
    const char *names[16] = {"auto"};
    size_t n = 1;
    for (size_t i = 0; i < cs_n_devices && n < CS_COUNT(names); i++) names[n++] = cs_devices[i]->name;
    if (cs_text_equal(name, "auto")) return CS_OK;
    run->device = cs_device_by_name(name);
    if (!run->device) return cs_cli_unknown("device", name, names, n);
    const char *unavailable = run->device->unavailable ? run->device->unavailable() : "";
    CS_REQUIRE(!*unavailable, CS_UNSUPPORTED, "device \"%s\" is not available: %s", name, unavailable);
    return CS_OK;
}

static enum cs_status set_policy(struct run *run, const char *name) {
    const char *names[16];
    size_t n = 0;
    for (size_t i = 0; i < cs_n_policies && n < CS_COUNT(names); i++) names[n++] = cs_policies[i].name;
    if (name && !cs_policy_by_name(name)) return cs_cli_unknown("policy", name, names, n);
    run->policy = name;
    return CS_OK;
}

/* Seeds end at 2^63: JSON readers and Lua know no larger integers. */
static enum cs_status set_seed(struct run *run, const char *text) {
    if (!text) return CS_OK;
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = is_hex ? text + 2 : text;
    size_t n = strspn(digits, is_hex ? "0123456789abcdefABCDEF" : "0123456789");
    errno = 0;
    run->seed = strtoull(digits, NULL, is_hex ? 16 : 10);
    CS_REQUIRE(n > 0 && !digits[n], CS_BAD_USAGE, "--seed wants a whole number, such as 17 or 0x11, found \"%s\"", text);
    CS_REQUIRE(errno == 0 && run->seed <= INT64_MAX, CS_BAD_USAGE, "--seed %s: the largest seed is %" PRId64, text, INT64_MAX);
    run->has_seed = true;
    return CS_OK;
}

static enum cs_status set_colour(struct run *run, const char *when) {
    static const char *const names[] = {"auto", "always", "never"};
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_wanted = !(no_color && *no_color) && !(term && cs_text_equal(term, "dumb"));
    if (!when || cs_text_equal(when, "auto")) run->is_coloured = is_wanted && isatty(fileno(run->text));
    else if (cs_text_equal(when, "always")) run->is_coloured = true;
    else if (!cs_text_equal(when, "never")) return cs_cli_unknown("--color", when, names, CS_COUNT(names));
    return CS_OK;
}

/* A report that has no folder to lie in should not wait for the end of a long run to say so. */
static enum cs_status check_json(struct run *run, const char *path) {
    if (!path || cs_text_equal(path, "-")) return CS_OK;
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 1;
    const char *folder = cs_arena_format(&run->arena, "%.*s", length, slash ? path : ".");
    struct stat found;
    CS_REQUIRE(folder, CS_NO_MEMORY, "no memory for \"%s\"", path);
    CS_REQUIRE(*path && stat(folder, &found) == 0 && S_ISDIR(found.st_mode), CS_BAD_FILE,
               "--json \"%s\": there is no folder \"%s\"", path, folder);
    CS_REQUIRE(stat(path, &found) != 0 || !S_ISDIR(found.st_mode), CS_BAD_FILE, "--json \"%s\" is a folder", path);
    return CS_OK;
}

static enum cs_status read_settings(struct run *run, int argc, char **argv) {
    CS_TRY(cs_options_parse(&run->options, cs_run_options, argc, argv, &run->arena));
    const char *json = cs_options_value(&run->options, "json");
    const char *device = cs_options_value(&run->options, "device");
    run->text = json && cs_text_equal(json, "-") ? stderr : stdout;
    run->shows_progress = isatty(STDERR_FILENO);
    CS_TRY(set_device(run, device ? device : "ref"));
    CS_TRY(set_policy(run, cs_options_value(&run->options, "policy")));
    CS_TRY(set_seed(run, cs_options_value(&run->options, "seed")));
    CS_TRY(set_colour(run, cs_options_value(&run->options, "color")));
    CS_TRY(check_json(run, json));
    CS_REQUIRE(run->options.n_words > 0, CS_BAD_USAGE, "run what? name a scenario file or a folder of them");
    return CS_OK;
}

/* ---- scenarios ---- */

static bool is_checkpoint(const struct cs_option_given *given) { return cs_text_equal(given->option->name, "checkpoint"); }

/* The option may be repeated, but not for one checkpoint. */
static enum cs_status check_is_first(const struct cs_options *options, size_t index) {
    const char *text = options->given[index].value;
    size_t length = strcspn(text, "=") + 1;
    for (size_t i = 0; i < index; i++)
        CS_REQUIRE(!is_checkpoint(&options->given[i]) || strncmp(options->given[i].value, text, length) != 0, CS_BAD_USAGE,
                   "--checkpoint is given twice for one name: \"%s\" and \"%s\"", options->given[i].value, text);
    return CS_OK;
}

static enum cs_status override_checkpoints(struct run *run) {
    const struct cs_options *options = &run->options;
    for (size_t i = 0; i < options->n_given; i++) {
        if (!is_checkpoint(&options->given[i])) continue;
        CS_TRY(check_is_first(options, i));
        CS_TRY(cs_override_checkpoint(&run->scenarios, options->given[i].value, &run->arena));
    }
    return CS_OK;
}

static enum cs_status select_scenarios(struct run *run) {
    struct cs_paths paths = {0};
    for (size_t i = 0; i < run->options.n_words; i++)
        CS_TRY(cs_find_scripts(run->options.words[i], &run->arena, &paths));
    CS_TRY(cs_load_scenarios(&paths, cs_options_value(&run->options, "filter"), &run->arena, &run->scenarios));
    if (run->scenarios.n == 0) return CS_OK; /* say_nothing_ran names the cause */
    for (size_t i = 0; i < run->scenarios.n; i++) run->n_planned += run->policy ? 1 : run->scenarios.items[i].n_policies;
    return override_checkpoints(run);
}

static int say_nothing_ran(const struct run *run) {
    const char *filter = cs_options_value(&run->options, "filter");
    if (filter) fprintf(stderr, "coldstart: nothing ran: no scenario's name contains \"%s\"\n", filter);
    else fprintf(stderr, "coldstart: nothing ran: there is no scenario below \"%s\"\n", run->options.words[0]);
    return CS_EXIT_NOTHING;
}

static uint64_t seed_of(const struct run *run, const struct cs_scenario *scenario) {
    return run->has_seed ? run->seed : scenario->seed;
}

/* Whoever repeats a run needs it, even when the run ends in a crash. */
static void print_seed(const struct run *run) {
    uint64_t seed = seed_of(run, &run->scenarios.items[0]);
    for (size_t i = 1; i < run->scenarios.n; i++)
        if (seed_of(run, &run->scenarios.items[i]) != seed) {
            fputs("seed of each scenario\n", stderr);
            return;
        }
    fprintf(stderr, "seed %" PRIu64 "\n", seed);
}

/* ---- running ---- */

static enum cs_status add_verdict(struct run *run, const struct cs_verdict *verdict) {
    void *items = run->verdicts;
    struct cs_verdict *slot = cs_arena_grow(&run->arena, &items, run->n_verdicts, &run->capacity, sizeof *slot);
    CS_REQUIRE(slot, CS_NO_MEMORY, "no memory for verdict %zu", run->n_verdicts + 1);
    run->verdicts = items;
    *slot = *verdict;
    run->n_verdicts++;
    cs_report_count(&run->totals, verdict);
    cs_report_text(run->text, verdict, run->is_coloured);
    fflush(run->text); /* a pipe shows each verdict as it comes */
    return CS_OK;
}

/* A verdict that is not the audit's. */
static struct cs_verdict plain_verdict(const struct run *run, const struct cs_scenario *scenario, const char *policy,
                                       const struct cs_device *device, enum cs_verdict_status status, const char *reason) {
    int n_ranks = scenario->tp > scenario->ep ? scenario->tp : scenario->ep;
    return (struct cs_verdict){.scenario = scenario, .device = device->name, .policy = policy,
                               .seed = seed_of(run, scenario), .status = status, .reason = reason,
                               .line = scenario->line, .n_ranks = n_ranks > 0 ? (size_t)n_ranks : 1};
}

/* What nobody implements is a failure, never a silent skip (R8.4); so is a refusal that no expectation foresaw. */
static enum cs_status judge(struct run *run, const struct cs_scenario *scenario, const char *policy,
                            const struct cs_device *device, struct cs_verdict *verdict) {
    struct cs_audit_options options = {.device = device, .policy = policy, .seed = seed_of(run, scenario)};
    enum cs_status status = cs_audit_scenario(scenario, &options, &run->arena, verdict);
    if (status == CS_UNSUPPORTED || status == CS_REFUSED) {
        const char *reason = cs_arena_format(&run->arena, "%s: %s", cs_status_name(status), cs_error_text());
        *verdict = plain_verdict(run, scenario, policy, device, CS_FAILED, reason);
        if (status == CS_REFUSED) verdict->refused_reason = reason;
        return CS_OK;
    }
    CS_REQUIRE(status == CS_OK, status, "%s, policy %s, device %s: %s", scenario->name, policy, device->name, cs_error_text());
    return CS_OK;
}

static enum cs_status run_on_device(struct run *run, const struct cs_scenario *scenario, const char *policy,
                                    const struct cs_device *device) {
    struct cs_verdict verdict = {0};
    if (run->shows_progress)
        fprintf(stderr, "\r\033[K[%zu/%zu] %s  %s  %s", run->n_verdicts + 1, run->n_planned, scenario->name, policy, device->name);
    enum cs_status status = judge(run, scenario, policy, device, &verdict);
    if (run->shows_progress) fputs("\r\033[K", stderr);
    CS_TRY(status);
    return add_verdict(run, &verdict);
}

/* Automatic: the first device that is there; those before it are skipped, with their reason (R8.5). */
static enum cs_status run_automatic(struct run *run, const struct cs_scenario *scenario, const char *policy) {
    for (size_t i = 0; i < cs_n_devices; i++) {
        const struct cs_device *device = cs_devices[i];
        const char *unavailable = device->unavailable ? device->unavailable() : "";
        if (!*unavailable) return run_on_device(run, scenario, policy, device);
        struct cs_verdict verdict = plain_verdict(run, scenario, policy, device, CS_SKIPPED, unavailable);
        run->n_planned++;
        CS_TRY(add_verdict(run, &verdict));
    }
    return cs_fail(CS_INTERNAL, "no device is available");
}

static enum cs_status run_policy(struct run *run, const struct cs_scenario *scenario, const char *policy) {
    return run->device ? run_on_device(run, scenario, policy, run->device) : run_automatic(run, scenario, policy);
}

static enum cs_status run_scenario(struct run *run, const struct cs_scenario *scenario) {
    if (run->policy) return run_policy(run, scenario, run->policy);
    for (size_t i = 0; i < scenario->n_policies; i++) CS_TRY(run_policy(run, scenario, scenario->policies[i]));
    return CS_OK;
}

/* ---- reporting ---- */

static int report(const struct run *run) {
    const char *json = cs_options_value(&run->options, "json");
    cs_report_text_totals(run->text, &run->totals);
    if (json && cs_report_json(json, run->verdicts, run->n_verdicts, &run->totals) != CS_OK) {
        cs_cli_fail(CS_INTERNAL);
        return CS_EXIT_INTERNAL;
    }
    if (run->totals.failed) return CS_EXIT_FAILED;
    return run->totals.passed ? CS_EXIT_PASSED : CS_EXIT_NOTHING;
}

static int run_all(struct run *run, int argc, char **argv) {
    enum cs_status status = read_settings(run, argc, argv);
    if (status == CS_OK) status = select_scenarios(run);
    if (status == CS_OK && run->scenarios.n == 0) return say_nothing_ran(run);
    if (status == CS_OK) print_seed(run);
    for (size_t i = 0; status == CS_OK && i < run->scenarios.n; i++) status = run_scenario(run, &run->scenarios.items[i]);
    return status == CS_OK ? report(run) : cs_cli_fail(status);
}

int cs_verb_run(int argc, char **argv) {
    struct run run = {0};
    int status = run_all(&run, argc, argv);
    cs_arena_release(&run.arena);
    return status;
}
