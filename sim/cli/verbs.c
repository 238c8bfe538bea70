#include "sim/cli/cli.h"

#include <stdio.h>

/* clang-format off */
const struct cs_verb cs_verbs[] = {
    {"bench", "measure a device against memcpy and the like, or orderings a second", "[fuzz]", cs_bench_cli_options, cs_verb_bench},
    {"check", "check that scripts are right, without running them", "FILE|DIR...", cs_check_options, cs_verb_check},
    {"conform", "compare with captured runs of real loaders", "DIR", cs_conform_cli_options, cs_verb_conform},
    {"coverage", "which ways of loading were tried, and what would try the others", "[FILE...|diff OLD NEW]", cs_coverage_options, cs_verb_coverage},
    {"fuzz", "judge plans that nobody wrote: all short ones, then random ones; failures are made small", "[FILE|DIR...]", cs_fuzz_cli_options, cs_verb_fuzz},
    {"help", "describe a verb, a scenario file, or the language of scenarios", "[VERB|FILE|lua|cs.FUNCTION]", cs_help_options, cs_verb_help},
    {"list", "list what scenarios can name", "[devices|methods|backends|layouts|loaders|policies|drivers|tables|mutants|models [DIR]|support [DIR]]", NULL,
     cs_verb_list},
    {"make-checkpoint", "write a checkpoint of a scenario as safetensors files", "FILE NAME [DIR]", cs_make_checkpoint_options,
     cs_verb_make_checkpoint},
    {"merge", "join the results of the shards of a campaign", "FILE|DIR...", cs_merge_options, cs_verb_merge},
    {"mutants", "break the engine in every known way, and see which scenarios notice", "FILE|DIR...", cs_mutants_options, cs_verb_mutants},
    {"run", "run scenarios and judge them", "FILE|DIR...", cs_run_options, cs_verb_run},
    {"version", "print the version", "", NULL, cs_verb_version},
};
/* clang-format on */
const size_t cs_n_verbs = CS_COUNT(cs_verbs);

enum cs_status cs_verb_find(const char *name, const struct cs_verb **verb) {
    const char *names[CS_COUNT(cs_verbs)];
    for (size_t i = 0; i < CS_COUNT(cs_verbs); i++) {
        *verb = &cs_verbs[i];
        names[i] = cs_verbs[i].name;
        if (cs_text_equal(names[i], name)) return CS_OK;
    }
    return cs_cli_unknown("verb", name, names, CS_COUNT(names));
}

enum cs_status cs_cli_unknown(const char *what, const char *word, const char *const *names, size_t n) {
    const char *nearest = cs_text_nearest(word, names, n);
    CS_REQUIRE(!nearest, CS_BAD_USAGE, "unknown %s \"%s\": did you mean \"%s\"?", what, word, nearest);
    char all[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < n && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
    return cs_fail(CS_BAD_USAGE, "unknown %s \"%s\": one of %s", what, word, all);
}

int cs_cli_exit(enum cs_status status) {
    switch (status) {
    case CS_OK:
        return CS_EXIT_PASSED;
    case CS_BAD_USAGE:
    case CS_BAD_SCRIPT:
    case CS_BAD_FILE:
    case CS_BAD_SHAPE:
    case CS_BAD_INDEX:
    case CS_BAD_VALUE:
    case CS_BAD_TYPE:
        return CS_EXIT_USAGE;
    case CS_REFUSED:
    case CS_UNSUPPORTED:
    case CS_NO_MEMORY:
    case CS_INTERNAL:
        break;
    }
    return CS_EXIT_INTERNAL;
}

int cs_cli_fail(enum cs_status status) {
    fprintf(stderr, "coldstart: %s\n", cs_error_text());
    return cs_cli_exit(status);
}
