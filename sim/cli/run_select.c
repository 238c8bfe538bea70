/* Which scenarios a run is about. */
#include "sim/cli/run.h"

#include <string.h>

static bool is_option(const struct cs_option_given *given, const char *name) {
    return cs_text_equal(given->option->name, name);
}

static enum cs_status read_selection(struct cs_run *run, struct cs_selection *selection) {
    const struct cs_options *options = &run->options;
    *selection = (struct cs_selection){.filter = cs_options_value(options, "filter"),
                                       .tags = CS_NEW_ARRAY(&run->arena, const char *, options->n_given + 1)};
    CS_REQUIRE(selection->tags, CS_NO_MEMORY, "no memory for %zu options", options->n_given);
    for (size_t i = 0; i < options->n_given; i++)
        if (is_option(&options->given[i], "tag")) selection->tags[selection->n_tags++] = options->given[i].value;
    return CS_OK;
}

enum cs_status cs_run_select(struct cs_run *run) {
    struct cs_paths paths = {0};
    struct cs_selection selection;
    struct cs_settings settings;
    CS_TRY(read_selection(run, &selection));
    CS_TRY(cs_read_settings(&run->options, &run->arena, &settings));
    for (size_t i = 0; i < run->options.n_words; i++)
        CS_TRY(cs_find_scripts(run->options.words[i], &run->arena, &paths));
    CS_TRY(cs_load_scenarios(&paths, &selection, &settings, &run->arena, &run->scenarios));
    size_t n = run->scenarios.n_left_out;
    if (n)
        fprintf(stderr, "left out %zu scenario%s tagged " CS_FULL_TAG ": add --tag " CS_FULL_TAG "\n", n,
                n == 1 ? "" : "s");
    for (size_t i = 0; run->has_mutant && i < run->scenarios.n; i++)
        run->scenarios.items[i].defects = cs_defects_with(run->scenarios.items[i].defects, run->mutant, true);
    if (!run->scenarios.n) return CS_OK; /* without scenarios every name would be unknown */
    return cs_override_checkpoints(&run->scenarios, &run->options, &run->arena);
}

/* The first tag asked for that no script has: probably a slip of the pen. */
static const char *unknown_tag(const struct cs_run *run) {
    for (size_t i = 0; i < run->options.n_given; i++) {
        if (!is_option(&run->options.given[i], "tag")) continue;
        bool is_known = false;
        for (size_t j = 0; j < run->scenarios.n_tags; j++)
            is_known |= cs_text_equal(run->scenarios.tags[j], run->options.given[i].value);
        if (!is_known) return run->options.given[i].value;
    }
    return NULL;
}

int cs_run_nothing(const struct cs_run *run) {
    const char *filter = cs_options_value(&run->options, "filter"), *tag = cs_options_value(&run->options, "tag");
    const char *unknown = unknown_tag(run);
    const char *nearest = unknown ? cs_text_nearest(unknown, run->scenarios.tags, run->scenarios.n_tags) : NULL;
    fputs("coldstart: nothing ran: ", stderr);
    if (run->scenarios.n_left_out)
        fputs("all of it is tagged " CS_FULL_TAG "\n", stderr);
    else if (nearest)
        fprintf(stderr, "no scenario is tagged \"%s\": did you mean \"%s\"?\n", unknown, nearest);
    else if (unknown)
        fprintf(stderr, "no scenario is tagged \"%s\"\n", unknown);
    else if (filter && tag)
        fprintf(stderr, "no scenario has every tag and a name that contains \"%s\"\n", filter);
    else if (filter)
        fprintf(stderr, "no scenario's name contains \"%s\"\n", filter);
    else if (tag)
        fputs("no scenario has every tag\n", stderr);
    else
        fprintf(stderr, "there is no scenario below \"%s\"\n", run->options.words[0]);
    return CS_EXIT_NOTHING;
}
