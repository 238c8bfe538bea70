#include "sim/cli/cli.h"

#include <stdio.h>

#include "sim/conform/conform.h"

/* clang-format off */
const struct cs_option cs_conform_cli_options[] = {
    {.name = "device", .value = "NAME", .text = "device that does the byte work (default: ref)"},
    {.name = "filter", .letter = 'k', .value = "TEXT", .text = "only cases with TEXT in family/file/case"},
    {0},
};
/* clang-format on */

static enum cs_status choose_device(const char *name, const struct cs_device **device) {
    *device = cs_device_by_name(name);
    if (!*device) {
        const char *names[16];
        size_t n = cs_n_devices < CS_COUNT(names) ? cs_n_devices : CS_COUNT(names);
        for (size_t i = 0; i < n; i++) names[i] = cs_devices[i]->name;
        return cs_cli_unknown("device", name, names, n);
    }
    const char *why = (*device)->unavailable ? (*device)->unavailable() : "";
    CS_REQUIRE(!why[0], CS_BAD_USAGE, "device %s cannot run here: %s", name, why);
    return CS_OK;
}

static enum cs_status parse(const struct cs_options *given, struct cs_conform_options *options) {
    CS_REQUIRE(given->n_words == 1, CS_BAD_USAGE, "conform needs one folder of golden files, %zu given",
               given->n_words);
    const char *device = cs_options_value(given, "device");
    options->folder = given->words[0];
    options->filter = cs_options_value(given, "filter");
    options->out = stdout;
    return choose_device(device ? device : "ref", &options->device);
}

static int exit_status(const struct cs_conform_options *options, const struct cs_conform_result *result) {
    const struct cs_conform_count *total = &result->total;
    bool is_nothing = !total->passed && !total->failed && !total->unsupported && !total->not_replayable;
    if (is_nothing)
        fprintf(stderr,
                "coldstart: nothing selected: %s has no case%s%s%s; a golden folder has layouts/index.json, "
                "loaders/*.json or reload/scenarios.json\n",
                options->folder, options->filter ? " that contains \"" : "", options->filter ? options->filter : "",
                options->filter ? "\"" : "");
    if (result->total.failed) return CS_EXIT_FAILED;
    return result->total.passed ? CS_EXIT_PASSED : CS_EXIT_NOTHING;
}

int cs_verb_conform(int argc, char **argv) {
    struct cs_arena arena = {0};
    struct cs_options given;
    struct cs_conform_options options = {0};
    struct cs_conform_result result;
    enum cs_status status = cs_options_parse(&given, cs_conform_cli_options, argc, argv, &arena);
    if (status == CS_OK) status = parse(&given, &options);
    if (status == CS_OK) status = cs_conform(&options, &result);
    int code = status == CS_OK ? exit_status(&options, &result) : cs_cli_fail(status);
    cs_arena_release(&arena);
    return code;
}
