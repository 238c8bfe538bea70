/* Processes that judge plans. Each has a pipe for plans and one for answers, and works on one plan after the other; a
 * few plans wait in its pipe, so that nobody idles. A process that dies, or is silent for too long, is to blame for the
 * oldest plan that it has not answered; the others go to its successor. */
#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cli/fuzz.h"

enum { AHEAD = 8, ROUND_MS = 200, FOREVER = INT32_MAX };

struct question {
    uint64_t number;
    cs_defect_set defects;
    struct cs_fuzz_plan plan;
};

#define NO_QUESTION UINT64_MAX /* number of one that ends the process */

struct worker {
    pid_t pid; /* 0: not started */
    int to, from;
    size_t n_waiting;
    struct question waiting[AHEAD]; /* oldest first */
    double since;                   /* last word, or start of the oldest question */
};

struct cs_workers {
    size_t n;
    struct cs_judge_options options;
    double timeout;
    double looked; /* when answers were last waited for */
    struct worker *workers;
};

/* What waits in a pipe, the last word included, fits in it, so that no write to a process that stands still waits. */
_Static_assert((AHEAD + 1) * sizeof(struct question) <= 65536, "questions must fit in a pipe");

/* ---- pipes ---- */

static bool write_all(int pipe, const void *bytes, size_t size) {
    for (const char *at = bytes; size > 0;) {
        ssize_t n = write(pipe, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* Waits until the pipe has bytes, or was closed on the other side; false after `seconds` without either. A round counts as a
 * second at most, however long we stood still in it. */
static bool has_word(int pipe, double seconds) {
    struct pollfd polled = {.fd = pipe, .events = POLLIN};
    do {
        double round = seconds < 1 ? seconds : 1;
        if (poll(&polled, 1, (int)(round * 1000)) > 0) return true;
        seconds -= round;
    } while (seconds > 0);
    return false;
}

/* A process may stand still in the middle of its answer: false after `seconds` of silence, too. */
static bool read_all(int pipe, void *bytes, size_t size, double seconds) {
    for (char *at = bytes; size > 0;) {
        if (!has_word(pipe, seconds)) return false;
        ssize_t n = read(pipe, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* An answer without the lines that it does not have. */
static size_t answer_size(const struct cs_fuzz_answer *answer) {
    return offsetof(struct cs_fuzz_answer, why) + answer->n_why * sizeof answer->why[0];
}

static bool read_answer(int pipe, struct cs_fuzz_answer *answer, double seconds) {
    if (!read_all(pipe, answer, offsetof(struct cs_fuzz_answer, why), seconds)) return false;
    return read_all(pipe, answer->why, answer->n_why * sizeof answer->why[0], seconds);
}

/* ---- the child ---- */

/* Cut between characters, and valid, so that it is the same in text, JSON and JUnit, and in a campaign that goes on. */
static void copy_text(char *to, size_t size, const char *from) {
    snprintf(to, size, "%.*s", from ? (int)cs_text_cut(from, size - 1) : 0, from ? from : "");
    cs_text_make_valid(to);
}

/* The message without its numbers, which change when a plan is made small. */
static void print_fault_finger(char *finger, size_t size, const char *message) {
    size_t n = (size_t)snprintf(finger, size, "internal ");
    for (bool was_digit = false; *message && n + 1 < size; message++) {
        bool is_digit = *message >= '0' && *message <= '9';
        if (!is_digit || !was_digit) finger[n++] = is_digit ? '#' : *message;
        was_digit = is_digit;
    }
    finger[n] = 0;
    cs_text_make_valid(finger); /* cut perhaps inside a character */
}

static void judge(const struct question *question, const struct cs_judge_options *options,
                  struct cs_fuzz_answer *answer) {
    struct cs_arena arena = {0};
    struct cs_fuzz_result result;
    struct cs_judge_options own = *options;
    own.defects |= question->defects;
    memset(answer, 0, sizeof *answer);
    answer->number = question->number;
    answer->status = cs_fuzz_judge(&question->plan, &own, &arena, &result);
    if (answer->status != CS_OK) {
        copy_text(answer->reason, sizeof answer->reason, cs_error_text());
        print_fault_finger(answer->fingerprint, sizeof answer->fingerprint, answer->reason);
    } else {
        answer->outcome = result.outcome;
        answer->digest = result.digest;
        answer->judged = result.judged;
        answer->deeds = result.deeds;
        copy_text(answer->fingerprint, sizeof answer->fingerprint, result.fingerprint.text);
        copy_text(answer->reason, sizeof answer->reason, result.reason);
        for (; answer->n_why < CS_FUZZ_LINES && answer->n_why < result.n_why; answer->n_why++)
            copy_text(answer->why[answer->n_why], sizeof answer->why[0], result.why[answer->n_why]);
    }
    cs_arena_release(&arena);
}

/* Never returns. */
static void run_child(const struct cs_workers *pool, int from, int to) {
    struct question question;
    struct cs_fuzz_answer answer;
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_IGN); /* the parent ends us, in order */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    omp_set_num_threads(1);
    while (read_all(from, &question, sizeof question, FOREVER) && question.number != NO_QUESTION) {
        judge(&question, &pool->options, &answer);
        if (!write_all(to, &answer, answer_size(&answer))) break;
    }
    _exit(0); /* what stdio holds is the parent's */
}

/* ---- the parent ---- */

static enum cs_status start(struct cs_workers *pool, struct worker *worker) {
    int to[2], from[2];
    CS_REQUIRE(pipe(to) == 0, CS_INTERNAL, "no pipe for a process: %s", strerror(errno));
    if (pipe(from) != 0) {
        close(to[0]), close(to[1]);
        return cs_fail(CS_INTERNAL, "no pipe for a process: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < pool->n; i++)
            if (pool->workers[i].pid) close(pool->workers[i].to), close(pool->workers[i].from);
        close(to[1]), close(from[0]);
        run_child(pool, to[0], from[1]);
    }
    close(to[0]), close(from[1]);
    if (pid < 0) {
        close(to[1]), close(from[0]);
        return cs_fail(CS_INTERNAL, "no process for plans: %s", strerror(errno));
    }
    worker->pid = pid;
    worker->to = to[1];
    worker->from = from[0];
    return CS_OK;
}

/* A process that waits for a question may not see its pipe closed: those of another pool hold copies of the other end.
 * One that stands still (SIGSTOP, a debugger) does not see even its last word: it is killed after `patience` seconds. */
static int end(struct worker *worker, double patience) {
    static const struct question last = {.number = NO_QUESTION};
    int status = 0;
    if (patience <= 0 || !write_all(worker->to, &last, sizeof last) || !has_word(worker->from, patience))
        kill(worker->pid, SIGKILL);
    close(worker->to);
    close(worker->from);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) {
    }
    worker->pid = 0;
    return status;
}

enum cs_status cs_workers_open(size_t n, const struct cs_judge_options *options, double timeout,
                            struct cs_workers **pool) {
    struct cs_workers *made = calloc(1, sizeof *made);
    struct worker *workers = calloc(n, sizeof *workers);
    if (!made || !workers) {
        free(made), free(workers);
        return cs_fail(CS_NO_MEMORY, "no memory for %zu processes", n);
    }
    *made = (struct cs_workers){.n = n, .options = *options, .timeout = timeout, .workers = workers};
    signal(SIGPIPE, SIG_IGN); /* a process that died is found by its silence */
    *pool = made;
    return CS_OK;
}

static struct worker *idlest(const struct cs_workers *pool) {
    struct worker *best = &pool->workers[0];
    for (size_t i = 1; i < pool->n; i++)
        if (pool->workers[i].n_waiting < best->n_waiting) best = &pool->workers[i];
    return best;
}

void cs_workers_set_timeout(struct cs_workers *pool, double timeout) { pool->timeout = timeout; }

bool cs_workers_has_room(const struct cs_workers *pool) { return idlest(pool)->n_waiting < AHEAD; }

size_t cs_workers_n_waiting(const struct cs_workers *pool) {
    size_t n = 0;
    for (size_t i = 0; i < pool->n; i++) n += pool->workers[i].n_waiting;
    return n;
}

enum cs_status cs_workers_send(struct cs_workers *pool, uint64_t number, const struct cs_fuzz_plan *plan,
                            cs_defect_set defects) {
    struct worker *worker = idlest(pool);
    if (!worker->pid) CS_TRY(start(pool, worker));
    struct question *question = &worker->waiting[worker->n_waiting++];
    memset(question, 0, sizeof *question); /* padding goes through the pipe too */
    question->number = number;
    question->defects = defects;
    question->plan = *plan;
    if (worker->n_waiting == 1) worker->since = cs_progress_now();
    write_all(worker->to, question, sizeof *question); /* a failure shows as silence */
    return CS_OK;
}

static void forget_oldest(struct worker *worker) {
    memmove(&worker->waiting[0], &worker->waiting[1], sizeof worker->waiting[0] * --worker->n_waiting);
    worker->since = cs_progress_now();
}

/* The oldest question is to blame; the rest is asked again. */
static enum cs_status bury(struct cs_workers *pool, struct worker *worker, bool is_hanging,
                           struct cs_fuzz_answer *answer) {
    int status = end(worker, is_hanging ? 0 : pool->timeout);
    memset(answer, 0, sizeof *answer);
    answer->number = worker->waiting[0].number;
    answer->outcome = CS_FUZZ_FAILED;
    answer->is_crash = true;
    if (is_hanging)
        snprintf(answer->reason, sizeof answer->reason, "hang: no answer within %g s", pool->timeout);
    else if (WIFSIGNALED(status))
        snprintf(answer->reason, sizeof answer->reason, "crash: its process was ended by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(answer->reason, sizeof answer->reason, "crash: its process ended with exit status %d",
                 WEXITSTATUS(status));
    cs_text_make_valid(answer->reason); /* words of the system, in any locale */
    copy_text(answer->fingerprint, sizeof answer->fingerprint, is_hanging ? CS_FUZZ_HANG : answer->reason);
    forget_oldest(worker);
    if (!worker->n_waiting) return CS_OK;
    CS_TRY(start(pool, worker));
    for (size_t i = 0; i < worker->n_waiting; i++)
        write_all(worker->to, &worker->waiting[i], sizeof worker->waiting[i]);
    return CS_OK;
}

/* Seconds between two looks: all of us stood still (Ctrl-Z, a machine that slept), or others were asked meanwhile. Nobody was
 * silent for that time. */
static void look_again(struct cs_workers *pool) {
    double now = cs_progress_now();
    for (size_t i = 0; now - pool->looked > 1 && i < pool->n; i++) {
        struct worker *worker = &pool->workers[i];
        worker->since += now - (worker->since > pool->looked ? worker->since : pool->looked);
    }
    pool->looked = now;
}

enum cs_status cs_workers_take(struct cs_workers *pool, struct cs_fuzz_answer *answer) {
    struct pollfd polled[CS_FUZZ_MOST_JOBS];
    for (;;) {
        size_t n = 0;
        for (size_t i = 0; i < pool->n; i++)
            polled[n++] = (struct pollfd){.fd = pool->workers[i].n_waiting ? pool->workers[i].from : -1, .events = POLLIN};
        poll(polled, (nfds_t)n, ROUND_MS);
        look_again(pool);
        for (size_t i = 0; i < pool->n; i++) {
            struct worker *worker = &pool->workers[i];
            if (!worker->n_waiting) continue;
            if (polled[i].revents) {
                if (!read_answer(worker->from, answer, pool->timeout))
                    return bury(pool, worker, !has_word(worker->from, 0), answer); /* the end of a pipe is a word */
                forget_oldest(worker);
                return CS_OK;
            }
            bool is_hanging = cs_progress_now() - worker->since > pool->timeout;
            if (is_hanging) return bury(pool, worker, true, answer);
        }
    }
}

void cs_workers_close(struct cs_workers *pool) {
    if (!pool) return;
    for (size_t i = 0; i < pool->n; i++)
        if (pool->workers[i].pid) end(&pool->workers[i], pool->workers[i].n_waiting ? 0 : pool->timeout);
    free(pool->workers);
    free(pool);
}
