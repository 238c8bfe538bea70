/* Command line: one file per verb, one row per verb in verbs.c. stdout carries results, stderr progress and
 * diagnostics.
 *
 * A verb gets its arguments as main does (argv[0] is the verb's name) and returns an exit status; only main.c ends the
 * process. `--help` never reaches a verb. A verb that fails says why on stderr with cs_cli_fail and returns what that
 * returns. */
#ifndef CS_CLI_H
#define CS_CLI_H

#include "sim/base/base.h"

enum cs_exit {
    CS_EXIT_PASSED = 0,
    CS_EXIT_FAILED = 1,   /* a scenario failed, or passed only by luck (R8.5) */
    CS_EXIT_USAGE = 2,    /* the command line, a script or a file is wrong */
    CS_EXIT_INTERNAL = 3, /* memory, a device, an output that cannot be written, a bug of ours */
    CS_EXIT_NOTHING = 4,  /* nothing ran: a filter that selects nothing */
};

/* ---- options ---- */

enum cs_option_use {
    CS_ONCE,
    CS_REPEATED,
    CS_WRITTEN, /* once; the value is a file that the verb writes: refused at once when it cannot be */
    CS_SHOWN,   /* the same, or "-": stdout */
};

/* One option that a verb understands; a table of them ends with a row without a name. */
struct cs_option {
    const char *name;  /* "seed": --seed N and --seed=N */
    char letter;       /* 'k': -k X and -kX too; 0: none */
    const char *value; /* what help calls the value, "N"; NULL: it takes none */
    enum cs_option_use use;
    const char *text; /* one line of help */
};

struct cs_option_given {
    const struct cs_option *option;
    const char *value; /* "" for an option without one */
};

/* A command line taken apart. Strings are those of argv. */
struct cs_options {
    size_t n_given;
    struct cs_option_given *given; /* in the order of the command line */
    size_t n_words;
    const char **words; /* what is no option; all of it after "--" */
};

/* CS_BAD_USAGE names the option: unknown (with the nearest known one), its value missing or not wanted, repeated, or a
 * file that the verb is to write and cannot. */
enum cs_status cs_options_parse(struct cs_options *options, const struct cs_option *table, int argc, char **argv,
                                struct cs_arena *arena);
/* Value of the first `--name` given, or NULL. */
const char *cs_options_value(const struct cs_options *options, const char *name);
/* Makes the folder that --output-dir names, unless it is there. CS_BAD_FILE says why it cannot be one. */
enum cs_status cs_options_make_output(const char *folder);
/* --seed, when it is given. CS_BAD_USAGE names what was found instead of a number. */
enum cs_status cs_options_seed(const struct cs_options *options, bool *is_given, uint64_t *seed);

/* ---- verbs ---- */

struct cs_verb {
    const char *name;
    const char *summary;             /* one line, for the list of verbs */
    const char *usage;               /* "FILE|DIR..." and more, after the name */
    const struct cs_option *options; /* for help; NULL: none */
    int (*run)(int argc, char **argv);
};

extern const struct cs_verb cs_verbs[]; /* sorted by name */
extern const size_t cs_n_verbs;
/* CS_BAD_USAGE names the word and the nearest verb. */
enum cs_status cs_verb_find(const char *name, const struct cs_verb **verb);

int cs_verb_bench(int argc, char **argv);
int cs_verb_check(int argc, char **argv);
int cs_verb_conform(int argc, char **argv);
int cs_verb_coverage(int argc, char **argv);
int cs_verb_fuzz(int argc, char **argv);
int cs_verb_help(int argc, char **argv);
int cs_verb_list(int argc, char **argv);
int cs_verb_make_checkpoint(int argc, char **argv);
int cs_verb_merge(int argc, char **argv);
int cs_verb_mutants(int argc, char **argv);
int cs_verb_run(int argc, char **argv);
int cs_verb_version(int argc, char **argv);

extern const struct cs_option cs_bench_cli_options[], cs_check_options[], cs_conform_cli_options[],
    cs_coverage_options[], cs_fuzz_cli_options[], cs_help_options[], cs_make_checkpoint_options[], cs_merge_options[],
    cs_mutants_options[], cs_run_options[];

/* ---- what verbs share ---- */

/* Prints "coldstart: " and cs_error_text() on stderr; returns the exit status that belongs to the failure. */
int cs_cli_fail(enum cs_status status);
/* The exit status of a failure, without a word. */
int cs_cli_exit(enum cs_status status);
/* CS_BAD_USAGE: `what` "policy" of that name does not exist, with the nearest of `names` or all of them. */
enum cs_status cs_cli_unknown(const char *what, const char *word, const char *const *names, size_t n);
/* Prints what `coldstart help VERB` prints. */
void cs_cli_help(const struct cs_verb *verb);

#endif
