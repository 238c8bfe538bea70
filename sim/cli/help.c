#include "sim/cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "sim/script/script.h"

/* "-k, --filter SUBSTRING", names below each other whether or not there is a letter. */
static void print_option(const struct cs_option *option) {
    char letter[] = "-?, ", left[64];
    letter[1] = option->letter;
    snprintf(left, sizeof left, "%s--%s %s", option->letter ? letter : "    ", option->name,
             option->value ? option->value : "");
    printf("  %-30s  %s%s\n", left, option->text, option->use == CS_REPEATED ? "; may be repeated" : "");
}

void cs_cli_help(const struct cs_verb *verb) {
    printf("coldstart %s: %s\n\nusage: coldstart %s%s%s%s\n", verb->name, verb->summary, verb->name,
           *verb->usage ? " " : "", verb->usage, verb->options ? " [OPTION...]" : "");
    if (verb->options) puts("\noptions:");
    for (const struct cs_option *option = verb->options; option && option->name; option++) print_option(option);
}

static void print_overview(void) {
    puts("coldstart: proves that weights reloaded into a running model equal a cold start\n\nusage: coldstart VERB "
         "[ARGUMENT...]\n\nverbs:");
    for (size_t i = 0; i < cs_n_verbs; i++) printf("  %-15s  %s\n", cs_verbs[i].name, cs_verbs[i].summary);
    puts("\n\"coldstart help VERB\" says more, \"coldstart help FILE\" what a scenario is, \"coldstart help lua\" how "
         "to write one.\n\n"
         "exit status:\n"
         "  0  everything passed\n"
         "  1  a scenario failed, or passed only by luck\n"
         "  2  the command line, a script or a checkpoint is wrong\n"
         "  3  memory, a device or an output failed\n"
         "  4  nothing ran");
}

/* ---- a scenario file ---- */

static void print_words(const char *label, const char *const *words, size_t n) {
    if (n) printf("%s", label);
    for (size_t i = 0; i < n; i++) printf("%s%s", i ? ", " : "", words[i]);
    if (n) putchar('\n');
}

static int wider(int width, const char *text) {
    int length = (int)strlen(text);
    return length > width ? length : width;
}

static void print_declared(const struct cs_scenario *scenario) {
    char type[128];
    int names = 0, types = 0, values = 0;
    for (size_t i = 0; i < scenario->n_declared; i++) {
        names = wider(names, scenario->declared[i].name);
        types = wider(types, cs_declared_type(&scenario->declared[i], type, sizeof type));
        values = wider(values, scenario->declared[i].initial);
    }
    puts("\noptions, for --set NAME=VALUE:");
    for (size_t i = 0; i < scenario->n_declared; i++) {
        const struct cs_declared *option = &scenario->declared[i];
        bool has_text = option->text && *option->text;
        printf("  %-*s  %-*s  default %-*s%s%s\n", names, option->name, types,
               cs_declared_type(option, type, sizeof type), has_text ? values : 0, option->initial,
               has_text ? "  " : "", has_text ? option->text : "");
    }
}

static enum cs_status help_file(const char *path, struct cs_arena *arena) {
    struct cs_script_list list = {0};
    CS_TRY(cs_script_load_all(path, NULL, 0, arena, &list));
    for (size_t i = 0; i < list.n; i++) {
        const struct cs_scenario *scenario = &list.items[i];
        printf("%s: %s\n", path, scenario->name);
        if (scenario->note) printf("\n%s\n", scenario->note);
        putchar('\n');
        print_words("tags:     ", scenario->tags, scenario->n_tags);
        print_words("policies: ", scenario->policies, scenario->n_policies);
    }
    if (list.items[0].n_declared) print_declared(&list.items[0]);
    return CS_OK;
}

/* ---- the verb ---- */

/* clang-format off */
const struct cs_option cs_help_options[] = {
    {"stubs", 0, NULL, CS_ONCE, "with lua: annotations for the Lua language server, scenarios/library/cs.lua"},
    {"reference", 0, NULL, CS_ONCE, "with lua: the tables of scenarios/README.md"},
    {0},
};
/* clang-format on */

static enum cs_status help_language(const struct cs_options *options) {
    if (cs_options_value(options, "stubs")) cs_language_stubs(stdout);
    if (cs_options_value(options, "reference")) cs_language_reference(stdout);
    return options->n_given ? CS_OK : cs_language_help(stdout, NULL);
}

static bool is_file(const char *word) {
    size_t length = strlen(word);
    return strchr(word, '/') || (length > 4 && cs_text_equal(word + length - 4, ".lua"));
}

static bool is_function(const char *word) { return strncmp(word, "cs.", 3) == 0 || strncmp(word, "s:", 2) == 0; }

static enum cs_status help_word(const char *word, struct cs_arena *arena) {
    const struct cs_verb *verb;
    if (is_file(word)) return help_file(word, arena);
    if (is_function(word)) return cs_language_help(stdout, word);
    CS_TRY(cs_verb_find(word, &verb));
    cs_cli_help(verb);
    return CS_OK;
}

static enum cs_status help(const struct cs_options *options, struct cs_arena *arena) {
    const char *word = options->n_words ? options->words[0] : NULL;
    CS_REQUIRE(options->n_words <= 1, CS_BAD_USAGE, "help describes one thing at a time, found \"%s\" too",
               options->words[1]);
    if (word && cs_text_equal(word, "lua")) return help_language(options);
    CS_REQUIRE(!options->n_given, CS_BAD_USAGE, "--%s belongs to \"coldstart help lua\"",
               options->given[0].option->name);
    if (word) return help_word(word, arena);
    print_overview();
    return CS_OK;
}

int cs_verb_help(int argc, char **argv) {
    struct cs_arena arena = {0};
    struct cs_options options;
    enum cs_status status = cs_options_parse(&options, cs_help_options, argc, argv, &arena);
    if (status == CS_OK) status = help(&options, &arena);
    cs_arena_release(&arena);
    return status == CS_OK ? CS_EXIT_PASSED : cs_cli_fail(status);
}
