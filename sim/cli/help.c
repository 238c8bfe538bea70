#include "sim/cli/cli.h"

#include <stdio.h>

/* "-k, --filter SUBSTRING", names below each other whether or not there is a letter. */
static void print_option(const struct cs_option *option) {
    char letter[] = "-?, ", left[64];
    letter[1] = option->letter;
    snprintf(left, sizeof left, "%s--%s %s", option->letter ? letter : "    ", option->name,
             option->value ? option->value : "");
    printf("  %-30s  %s%s\n", left, option->text, option->may_repeat ? "; may be repeated" : "");
}

void cs_cli_help(const struct cs_verb *verb) {
    printf("coldstart %s: %s\n\nusage: coldstart %s%s%s%s\n", verb->name, verb->summary, verb->name,
           *verb->usage ? " " : "", verb->usage, verb->options ? " [OPTION...]" : "");
    if (verb->options) puts("\noptions:");
    for (const struct cs_option *option = verb->options; option && option->name; option++) print_option(option);
}

static void print_overview(void) {
    puts("coldstart: proves that weights reloaded into a running model equal a cold start\n\nusage: coldstart VERB [ARGUMENT...]\n\nverbs:");
    for (size_t i = 0; i < cs_n_verbs; i++) printf("  %-15s  %s\n", cs_verbs[i].name, cs_verbs[i].summary);
    puts("\n\"coldstart help VERB\" says more.\n\n"
         "exit status:\n"
         "  0  everything passed\n"
         "  1  a scenario failed, or passed only by luck\n"
         "  2  the command line, a script or a checkpoint is wrong\n"
         "  3  memory, a device or an output failed\n"
         "  4  nothing ran");
}

int cs_verb_help(int argc, char **argv) {
    struct cs_arena arena = {0};
    struct cs_options options;
    const struct cs_verb *verb = NULL;
    enum cs_status status = cs_options_parse(&options, NULL, argc, argv, &arena);
    if (status == CS_OK && options.n_words > 1)
        status = cs_fail(CS_BAD_USAGE, "help describes one verb at a time, found \"%s\" too", options.words[1]);
    if (status == CS_OK && options.n_words == 1) status = cs_verb_find(options.words[0], &verb);
    cs_arena_release(&arena);
    if (status != CS_OK) return cs_cli_fail(status);
    if (verb) cs_cli_help(verb);
    else print_overview();
    return CS_EXIT_PASSED;
}
