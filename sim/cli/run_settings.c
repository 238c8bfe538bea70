/* The command line of `run`. */
#include "sim/cli/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_JOBS = 256, MOST_REPEATS = 1000000 };

/* clang-format off */
const struct cs_option cs_run_options[] = {
    {"device", 0, "NAME|auto", CS_ONCE, "the device that does the byte work; auto: ref and every other real one, skipped where it is missing (default: those that are there)"},
    {"policy", 0, "P", CS_ONCE, "run under this padding policy instead of the scenario's"},
    {"mutant", 0, "ID|all", CS_ONCE, "switch on this defect of `coldstart list mutants`; all: each of them alone, until a scenario kills it"},
    {"checkpoint", 0, "NAME=DIR", CS_REPEATED, "take checkpoint NAME from a folder, in every scenario that has one of that name; at least one must"},
    {"set", 0, "NAME=VALUE", CS_REPEATED, "give an option that the scenario's file declares another value: coldstart help FILE"},
    {"seed", 0, "N", CS_ONCE, "seed of garbage and shuffling, decimal or 0x… (default: the scenario's)"},
    {"filter", 'k', "SUBSTRING", CS_ONCE, "only scenarios whose name contains it"},
    {"tag", 0, "T", CS_REPEATED, "only scenarios that have the tag; folders leave out those tagged full unless it is asked for"},
    {"fail-fast", 'x', NULL, CS_ONCE, "stop after the first failure"},
    {"repeat", 0, "N", CS_ONCE, "run each verdict N times; a repetition that differs is a failure"},
    {"jobs", 'j', "N", CS_ONCE, "run N scenarios at once, each in a process of its own (default: 1)"},
    {"json", 0, "FILE", CS_SHOWN, "write the JSON report too; \"-\": to stdout, and the text to stderr"},
    {"coverage", 0, "FILE", CS_WRITTEN, "write which ways of loading were taken: coldstart coverage FILE"},
    {"color", 0, "auto|always|never", CS_ONCE, "colour the text; auto: on a terminal, unless NO_COLOR is set"},
    {"quiet", 'q', NULL, CS_ONCE, "no progress on stderr"},
    {0},
};
/* clang-format on */

static const char *missing_because(const struct cs_device *device) {
    return device->unavailable ? device->unavailable() : "";
}

/* Real devices, ref first. Processes cannot share a GPU that their parent has looked for: with --jobs, ref alone,
 * unless --device asks. */
static enum cs_status set_real_devices(struct cs_run *run, bool is_asked) {
    for (size_t i = 0; i < cs_n_devices && run->n_devices < CS_RUN_DEVICES; i++) {
        bool is_first = run->n_devices == 0,
             is_wanted = !cs_devices[i]->is_emulated && (is_asked || is_first || run->n_jobs == 1);
        if (!is_wanted) continue;
        bool is_missing = *missing_because(cs_devices[i]);
        CS_REQUIRE(is_first || is_missing || run->n_jobs == 1, CS_BAD_USAGE,
                   "--device auto with --jobs: processes cannot share the device %s; leave one of them out",
                   cs_devices[i]->name);
        if (is_asked || !is_missing) run->devices[run->n_devices++] = cs_devices[i];
    }
    return CS_OK;
}

static bool is_used(const struct cs_run *run, const struct cs_device *device) {
    for (size_t i = 0; i < run->n_devices; i++)
        if (run->devices[i] == device) return true;
    return false;
}

const char *cs_run_device_left_out(struct cs_run *run) {
    if (cs_options_value(&run->options, "device")) return NULL;
    for (size_t i = 0; i < cs_n_devices; i++) {
        const struct cs_device *device = cs_devices[i];
        if (device->is_emulated || is_used(run, device)) continue;
        const char *why = missing_because(device);
        return cs_arena_format(&run->arena, "%s: %s", device->name, *why ? why : "processes cannot share it");
    }
    return NULL;
}

static enum cs_status set_devices(struct cs_run *run, const char *name) {
    const char *names[16] = {"auto"};
    size_t n = 1;
    for (size_t i = 0; i < cs_n_devices && n < CS_COUNT(names); i++) names[n++] = cs_devices[i]->name;
    bool is_automatic = !name || cs_text_equal(name, "auto");
    if (is_automatic) return set_real_devices(run, name != NULL);
    const struct cs_device *device = cs_device_by_name(name);
    if (!device) return cs_cli_unknown("device", name, names, n);
    CS_REQUIRE(!*missing_because(device), CS_UNSUPPORTED, "device \"%s\" is not available: %s", name,
               missing_because(device));
    run->devices[run->n_devices++] = device;
    return CS_OK;
}

static enum cs_status set_policy(struct cs_run *run, const char *name) {
    const char *names[16];
    size_t n = 0;
    for (size_t i = 0; i < cs_n_policies && n < CS_COUNT(names); i++) names[n++] = cs_policies[i].name;
    if (name && !cs_policy_by_name(name)) return cs_cli_unknown("policy", name, names, n);
    run->policy = name;
    return CS_OK;
}

static enum cs_status set_mutant(struct cs_run *run, const char *name) {
    if (!name) return CS_OK;
    run->has_every_mutant = cs_text_equal(name, "all");
    if (run->has_every_mutant) return CS_OK;
    run->has_mutant = true;
    enum cs_status status = cs_defect_parse(name, &run->mutant);
    CS_REQUIRE(status == CS_OK, CS_BAD_USAGE, "--mutant: %s", cs_error_text());
    return CS_OK;
}

static enum cs_status set_count(const struct cs_run *run, const char *option, size_t most, size_t *count) {
    const char *text = cs_options_value(&run->options, option);
    *count = 1;
    if (!text) return CS_OK;
    size_t n = strspn(text, "0123456789");
    unsigned long value = n > 0 && n < 9 && !text[n] ? strtoul(text, NULL, 10) : 0;
    CS_REQUIRE(value >= 1 && value <= most, CS_BAD_USAGE, "--%s wants a number from 1 to %zu, found \"%s\"", option,
               most, text);
    *count = value;
    return CS_OK;
}

static enum cs_status set_colour(struct cs_run *run, const char *when) {
    static const char *const names[] = {"auto", "always", "never"};
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_wanted = !(no_color && *no_color) && !(term && cs_text_equal(term, "dumb"));
    if (!when || cs_text_equal(when, "auto"))
        run->is_coloured = is_wanted && isatty(fileno(run->text));
    else if (cs_text_equal(when, "always"))
        run->is_coloured = true;
    else if (!cs_text_equal(when, "never"))
        return cs_cli_unknown("--color", when, names, CS_COUNT(names));
    return CS_OK;
}

enum cs_status cs_run_settings(struct cs_run *run, int argc, char **argv) {
    CS_TRY(cs_options_parse(&run->options, cs_run_options, argc, argv, &run->arena));
    const char *json = cs_options_value(&run->options, "json");
    const char *device = cs_options_value(&run->options, "device");
    run->text = json && cs_text_equal(json, "-") ? stderr : stdout;
    run->stops_early = cs_options_value(&run->options, "fail-fast") != NULL;
    CS_TRY(set_policy(run, cs_options_value(&run->options, "policy")));
    CS_TRY(set_mutant(run, cs_options_value(&run->options, "mutant")));
    CS_TRY(cs_options_seed(&run->options, &run->has_seed, &run->seed));
    CS_TRY(set_count(run, "repeat", MOST_REPEATS, &run->n_repeats));
    CS_TRY(set_count(run, "jobs", MOST_JOBS, &run->n_jobs));
    CS_TRY(set_devices(run, device));
    CS_TRY(set_colour(run, cs_options_value(&run->options, "color")));
    CS_REQUIRE(run->options.n_words > 0, CS_BAD_USAGE, "run what? name a scenario file or a folder of them");
    return CS_OK;
}

enum cs_status cs_mutants_settings(struct cs_run *run, int argc, char **argv) {
    CS_TRY(cs_options_parse(&run->options, cs_mutants_options, argc, argv, &run->arena));
    const char *json = cs_options_value(&run->options, "json");
    run->text = json && cs_text_equal(json, "-") ? stderr : stdout;
    CS_TRY(cs_options_seed(&run->options, &run->has_seed, &run->seed));
    CS_REQUIRE(run->options.n_words > 0, CS_BAD_USAGE, "mutants of what? name a scenario file or a folder of them");
    return CS_OK;
}
