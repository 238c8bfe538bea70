#include "sim/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A closed descriptor would be given to the next file that is opened, and text for people would land in it: stdin and
 * stderr become /dev/null, a closed stdout cannot be forgiven. */
static bool has_stdout(void) {
    bool is_open = fcntl(1, F_GETFD) != -1;
    for (int i = 0; i <= 2; i++)
        if (fcntl(i, F_GETFD) == -1 && open("/dev/null", O_RDWR) != i) return false;
    return is_open;
}

/* `coldstart --help` and `coldstart --version` work as everywhere. */
static const char *verb_name(const char *word) {
    if (cs_text_equal(word, "--help") || cs_text_equal(word, "-h")) return "help";
    if (cs_text_equal(word, "--version")) return "version";
    return word;
}

static bool asks_for_help(int argc, char **argv) {
    for (int i = 1; i < argc && !cs_text_equal(argv[i], "--"); i++)
        if (cs_text_equal(argv[i], "--help") || cs_text_equal(argv[i], "-h")) return true;
    return false;
}

static int run_verb(int argc, char **argv) {
    const struct cs_verb *verb;
    if (argc < 2) return cs_cli_fail(cs_fail(CS_BAD_USAGE, "which verb? \"coldstart help\" lists them"));
    enum cs_status status = cs_verb_find(verb_name(argv[1]), &verb);
    if (status != CS_OK) return cs_cli_fail(status);
    if (!asks_for_help(argc - 1, argv + 1)) return verb->run(argc - 1, argv + 1);
    cs_cli_help(verb);
    return CS_EXIT_PASSED;
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error of write, which has a message */
    signal(SIGPIPE, SIG_DFL); /* whoever started us may ignore it; a reader that went away ends us without a word */
    if (!has_stdout()) {
        fputs("coldstart: stdout is closed, nobody would see the results\n", stderr);
        return CS_EXIT_INTERNAL;
    }
    int status = run_verb(argc, argv);
    errno = 0;
    bool had_failed = ferror(stdout);
    if (fclose(stdout) == 0 && !had_failed) return status;
    fprintf(stderr, "coldstart: cannot write to stdout: %s\n", errno ? strerror(errno) : "an earlier write failed");
    return CS_EXIT_INTERNAL;
}
