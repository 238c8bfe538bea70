#include "sim/cli/bench_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/cli/cli.h"
#include "sim/cli/progress.h"

/* ---- what it measured ---- */

/* Orderings a second that can be: one in a thousand seconds, and one in a nanosecond. */
static const double least_rate = 1e-3, most_rate = 1e9;

/* As it stands in the file, for a message. */
static const char *text_of(const json_t *value, struct cs_arena *arena) {
    char *dumped =
        value ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    const char *text = cs_arena_format(arena, "%.100s", dumped ? dumped : "missing");
    free(dumped);
    return text ? text : "?";
}

static enum cs_status check_row(const char *command, const json_t *rows, size_t i, struct cs_arena *arena) {
    const json_t *row = json_array_get(rows, i), *model = json_object_get(row, "model"),
                 *value = json_object_get(row, "per_second");
    CS_REQUIRE(json_is_string(model), CS_BAD_FILE,
               "--peer %s: \"model\" of row %zu of its --json file is %s, expected a text", command, i + 1,
               text_of(model, arena));
    double rate = json_number_value(value);
    CS_REQUIRE(rate >= least_rate && rate <= most_rate, CS_BAD_FILE,
               "--peer %s: \"per_second\" of %s in its --json file is %s, expected a number of orderings a second from "
               "%g to %g",
               command, text_of(model, arena), text_of(value, arena), least_rate, most_rate);
    for (size_t j = 0; j < i; j++)
        CS_REQUIRE(!json_equal(model, json_object_get(json_array_get(rows, j), "model")), CS_BAD_FILE,
                   "--peer %s: rows %zu and %zu of its --json file are both of %s, expected each model once", command,
                   j + 1, i + 1, text_of(model, arena));
    return CS_OK;
}

static enum cs_status check_report(const char *command, const json_t *report, struct cs_arena *arena) {
    const json_t *rows = json_object_get(report, "rows");
    CS_REQUIRE(
        json_array_size(rows) > 0, CS_BAD_FILE,
        "--peer %s: \"rows\" of its --json file is %s, expected a list of rows of \"model\" and \"per_second\": take "
        "what measures as tests/peer/reload_peer.py does",
        command, text_of(rows, arena));
    for (size_t i = 0; i < json_array_size(rows); i++) CS_TRY(check_row(command, rows, i, arena));
    return CS_OK;
}

static enum cs_status read_rows(const char *command, const char *path, struct cs_arena *arena, json_t **rows) {
    json_t *report;
    enum cs_status status = cs_read_json(path, &report);
    CS_REQUIRE(status == CS_OK, status,
               "--peer %s: its --json file cannot be used: %s: expected \"rows\" of \"model\" and \"per_second\", a "
               "number from "
               "%g to %g",
               command, cs_error_text(), least_rate, most_rate);
    status = check_report(command, report, arena);
    if (status == CS_OK) *rows = json_incref(json_object_get(report, "rows"));
    json_decref(report);
    return status;
}

double cs_bench_peer_rate(const json_t *rows, const char *what) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (cs_text_equal(json_string_value(json_object_get(row, "model")), what))
            return json_number_value(json_object_get(row, "per_second"));
    }
    return 0;
}

enum cs_status cs_bench_peer_require(const char *command, const json_t *rows, const char *what) {
    if (cs_bench_peer_rate(rows, what) > 0) return CS_OK;
    struct cs_arena arena = {0};
    const char *found = "";
    for (size_t i = 0; found && i < json_array_size(rows); i++)
        found = cs_arena_format(&arena, "%s%s%s", found, i ? ", " : "",
                                text_of(json_object_get(json_array_get(rows, i), "model"), &arena));
    enum cs_status status = cs_fail(CS_BAD_FILE,
                                    "--peer %s: it did not measure \"%s\", but %s: leave that row out with "
                                    "--filter, or measure it",
                                    command, what, found ? found : "others");
    cs_arena_release(&arena);
    return status;
}

/* ---- its process ---- */

/* What ends us, unless whoever started us ignores it, and the end of a child. */
static sigset_t awaited_signals(void) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < CS_COUNT(ends); i++)
        if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&set, ends[i]);
    return set;
}

/* Never returns. The file's path is a word of its own, whatever is in it. */
static void run_child(const char *line, const char *path, const sigset_t *awaited) {
    setpgid(0, 0);                    /* what it starts ends with it */
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* whoever kills the parent means us too */
    int nothing = open("/dev/null", O_RDONLY);
    bool is_ready = nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
    if (nothing > STDERR_FILENO) close(nothing);
    sigprocmask(SIG_UNBLOCK, awaited, NULL);
    if (is_ready) execl("/bin/sh", "sh", "-c", line, "sh", "--json", path, (char *)NULL);
    _exit(127); /* what stdio holds is the parent's */
}

/* Until the process ended, but not yet its name: 0. Else the signal that ends us, or SIGALRM: its time is over. */
static int wait_for(pid_t pid, int seconds, const sigset_t *awaited) {
    static const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
    double last = cs_progress_now() + seconds;
    for (;;) {
        siginfo_t ended = {0};
        if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == pid) return 0;
        if (cs_progress_now() >= last) return SIGALRM;
        int sent = sigtimedwait(awaited, NULL, &pause);
        if (sent > 0 && sent != SIGCHLD) return sent;
    }
}

static enum cs_status judge_end(const char *command, int seconds, int sent, int status) {
    CS_REQUIRE(sent != SIGALRM, CS_BAD_USAGE, "--peer %s: it was ended after %d seconds: nothing was measured", command,
               seconds);
    CS_REQUIRE(!sent, CS_BAD_USAGE, "--peer %s: it was ended by signal %d to coldstart: nothing was measured", command,
               sent);
    CS_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0, CS_BAD_USAGE,
               "--peer %s: it ended with %s %d: nothing was measured", command,
               WIFSIGNALED(status) ? "signal" : "exit status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return CS_OK;
}

/* Signals of `awaited` are blocked meanwhile. `end` is the one that was to end us; 0: none. */
static enum cs_status run_command(const char *command, const char *line, const char *path, int seconds,
                                  const sigset_t *awaited, int *end) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) run_child(line, path, awaited);
    CS_REQUIRE(pid > 0, CS_INTERNAL, "--peer %s: no process for it: %s", command, strerror(errno));
    setpgid(pid, pid); /* whichever of the two comes first */
    int sent = wait_for(pid, seconds, awaited);
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    *end = sent == SIGALRM ? 0 : sent;
    return judge_end(command, seconds, sent, status);
}

static enum cs_status run_and_read(const char *command, int seconds, const sigset_t *awaited, struct cs_arena *arena,
                                   json_t **rows) {
    const char *folder = getenv("TMPDIR");
    char *path = cs_arena_format(arena, "%s/coldstart_peer_XXXXXX", folder && *folder ? folder : "/tmp");
    const char *line = cs_arena_format(arena, "%s \"$@\"", command);
    CS_REQUIRE(path && line, CS_NO_MEMORY, "no memory for the command of --peer");
    int file = mkstemp(path), end = 0;
    CS_REQUIRE(file >= 0, CS_BAD_FILE,
               "--peer: no temporary file can be made as %s: set TMPDIR to a folder that can be written", path);
    close(file);
    enum cs_status status = run_command(command, line, path, seconds, awaited, &end);
    if (status == CS_OK) status = read_rows(command, path, arena, rows);
    unlink(path);
    if (end) raise(end); /* waits until it is unblocked */
    return status;
}

enum cs_status cs_bench_peer_run(const char *command, int seconds, json_t **rows) {
    struct cs_arena arena = {0};
    CS_REQUIRE(command[strspn(command, " \t\r\n")], CS_BAD_USAGE,
               "--peer wants a command, such as 'python tests/peer/reload_peer.py', found \"%s\"", command);
    sigset_t awaited = awaited_signals(), before;
    signal(SIGCHLD, SIG_DFL); /* whoever started us may ignore it, and then nobody says how the command ended */
    sigprocmask(SIG_BLOCK, &awaited, &before);
    enum cs_status status = run_and_read(command, seconds, &awaited, &arena, rows);
    sigprocmask(SIG_SETMASK, &before, NULL);
    cs_arena_release(&arena);
    return status;
}
