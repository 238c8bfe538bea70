#include "sim/cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPTIONS_MAX = 32, SPELLED = 64 }; /* options of one verb, for "did you mean"; bytes of a name in messages */

/* Where parsing stands. */
struct parser {
    struct cs_options *options;
    const struct cs_option *table;
    const char *verb;
    int argc, next; /* next: the argument to look at */
    char **argv;
};

/* How messages name an option: "-k (--filter)", "--seed". */
static const char *spelled(const struct cs_option *option, char *buffer, size_t size) {
    if (option->letter)
        snprintf(buffer, size, "-%c (--%s)", option->letter, option->name);
    else
        snprintf(buffer, size, "--%s", option->name);
    return buffer;
}

static enum cs_status unknown_option(const struct parser *parser, const char *word) {
    const char *names[OPTIONS_MAX];
    size_t n = 0;
    for (const struct cs_option *row = parser->table; row && row->name && n < OPTIONS_MAX; row++)
        names[n++] = row->name;
    const char *nearest = strncmp(word, "--", 2) == 0 ? cs_text_nearest(word + 2, names, n) : NULL;
    CS_REQUIRE(nearest, CS_BAD_USAGE, "unknown option %s: \"coldstart help %s\" lists the options of %s", word,
               parser->verb, parser->verb);
    return cs_fail(CS_BAD_USAGE, "unknown option %s: did you mean --%s?", word, nearest);
}

static const struct cs_option *by_letter(const struct cs_option *table, char letter) {
    for (; table && table->name; table++)
        if (table->letter == letter) return table;
    return NULL;
}

static const struct cs_option *by_name(const struct cs_option *table, const char *name, size_t length) {
    for (; table && table->name; table++)
        if (strlen(table->name) == length && strncmp(table->name, name, length) == 0) return table;
    return NULL;
}

static enum cs_status give(struct parser *parser, const struct cs_option *option, const char *value) {
    struct cs_options *options = parser->options;
    char name[SPELLED];
    for (size_t i = 0; i < options->n_given; i++)
        CS_REQUIRE(option->use == CS_REPEATED || options->given[i].option != option, CS_BAD_USAGE,
                   "%s is given twice: \"%s\" and \"%s\"", spelled(option, name, sizeof name), options->given[i].value,
                   value);
    options->given[options->n_given++] = (struct cs_option_given){option, value};
    return CS_OK;
}

/* The value that follows as an argument of its own. Another option there means that the value was forgotten; a value
 * that really starts with "--" can be joined with "=". */
static enum cs_status give_next(struct parser *parser, const struct cs_option *option) {
    const char *value = parser->next < parser->argc ? parser->argv[parser->next] : NULL;
    char name[SPELLED];
    CS_REQUIRE(value && strncmp(value, "--", 2) != 0, CS_BAD_USAGE, "%s needs a value: %s",
               spelled(option, name, sizeof name), option->value);
    parser->next++;
    return give(parser, option, value);
}

/* "--name", "--name=value", "--name value" */
static enum cs_status parse_long(struct parser *parser, const char *word) {
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct cs_option *option = by_name(parser->table, word + 2, length - 2);
    if (!option) return unknown_option(parser, word);
    if (!option->value) {
        CS_REQUIRE(!equals, CS_BAD_USAGE, "--%s takes no value, found \"%s\"", option->name, equals + 1);
        return give(parser, option, "");
    }
    return equals ? give(parser, option, equals + 1) : give_next(parser, option);
}

/* "-k value", "-kvalue" */
static enum cs_status parse_short(struct parser *parser, const char *word) {
    const struct cs_option *option = by_letter(parser->table, word[1]);
    if (!option) return unknown_option(parser, word);
    if (option->value) return word[2] ? give(parser, option, word + 2) : give_next(parser, option);
    CS_REQUIRE(!word[2], CS_BAD_USAGE, "-%c takes no value, found \"%s\"", word[1], word + 2);
    return give(parser, option, "");
}

/* "-" alone is a word: it stands for stdout where a file is wanted. */
static enum cs_status parse_word(struct parser *parser) {
    const char *word = parser->argv[parser->next++];
    if (strncmp(word, "--", 2) == 0 && word[2]) return parse_long(parser, word);
    if (word[0] == '-' && word[1] && word[1] != '-') return parse_short(parser, word);
    if (cs_text_equal(word, "--")) {
        while (parser->next < parser->argc)
            parser->options->words[parser->options->n_words++] = parser->argv[parser->next++];
        return CS_OK;
    }
    parser->options->words[parser->options->n_words++] = word;
    return CS_OK;
}

static bool is_output(const struct cs_option_given *given) {
    return given->option->use == CS_WRITTEN || given->option->use == CS_SHOWN;
}

/* The later of two reports at one place would replace the earlier. */
static enum cs_status check_place_is_free(const struct cs_options *options, size_t n) {
    const struct cs_option_given *given = &options->given[n];
    for (size_t i = 0; i < n; i++)
        CS_REQUIRE(!is_output(&options->given[i]) || !cs_text_equal(options->given[i].value, given->value),
                   CS_BAD_USAGE, "--%s and --%s both write \"%s\": name two files", options->given[i].option->name,
                   given->option->name, given->value);
    return CS_OK;
}

/* A campaign of hours must not end with a report that has no place. */
static enum cs_status check_written(const struct cs_options *options) {
    for (size_t i = 0; i < options->n_given; i++) {
        const struct cs_option_given *given = &options->given[i];
        if (!is_output(given)) continue;
        CS_REQUIRE(given->option->use == CS_SHOWN || !cs_text_equal(given->value, "-"), CS_BAD_USAGE,
                   "--%s -: it would stand among the text on stdout: name a file", given->option->name);
        CS_TRY(check_place_is_free(options, i));
        if (cs_write_check(given->value) != CS_OK)
            return cs_fail(CS_BAD_USAGE, "--%s: %s", given->option->name, cs_error_text());
    }
    return CS_OK;
}

enum cs_status cs_options_parse(struct cs_options *options, const struct cs_option *table, int argc, char **argv,
                                struct cs_arena *arena) {
    size_t room = argc > 0 ? (size_t)argc : 1;
    *options = (struct cs_options){.given = CS_NEW_ARRAY(arena, struct cs_option_given, room),
                                   .words = CS_NEW_ARRAY(arena, const char *, room)};
    CS_REQUIRE(options->given && options->words, CS_NO_MEMORY, "no memory for %d arguments", argc);
    struct parser parser = {options, table, argv[0], argc, 1, argv};
    while (parser.next < argc) CS_TRY(parse_word(&parser));
    return check_written(options);
}

const char *cs_options_value(const struct cs_options *options, const char *name) {
    for (size_t i = 0; i < options->n_given; i++)
        if (cs_text_equal(options->given[i].option->name, name)) return options->given[i].value;
    return NULL;
}

enum cs_status cs_options_make_output(const char *folder) {
    struct stat found;
    if (mkdir(folder, 0777) == 0) return CS_OK;
    int error = errno;
    bool is_there = error == EEXIST && stat(folder, &found) == 0;
    CS_REQUIRE(!is_there || S_ISDIR(found.st_mode), CS_BAD_FILE,
               "--output-dir %s: is a file, expected a folder or a name that is free: name another one", folder);
    CS_REQUIRE(is_there, CS_BAD_FILE, "--output-dir %s: cannot be made: %s: name a folder where you may write", folder,
               strerror(error));
    return CS_OK;
}

/* Seeds end at 2^63: JSON readers and Lua know no larger integers. */
enum cs_status cs_options_seed(const struct cs_options *options, bool *is_given, uint64_t *seed) {
    const char *text = cs_options_value(options, "seed");
    if (!text) return CS_OK;
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = is_hex ? text + 2 : text;
    size_t n = strspn(digits, is_hex ? "0123456789abcdefABCDEF" : "0123456789");
    errno = 0;
    *seed = strtoull(digits, NULL, is_hex ? 16 : 10);
    CS_REQUIRE(n > 0 && !digits[n], CS_BAD_USAGE, "--seed wants a whole number, such as 17 or 0x11, found \"%s\"",
               text);
    CS_REQUIRE(errno == 0 && *seed <= INT64_MAX, CS_BAD_USAGE, "--seed %s: the largest seed is %" PRId64, text,
               INT64_MAX);
    *is_given = true;
    return CS_OK;
}
