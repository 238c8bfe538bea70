/* Several scenarios at once, each in a child process. A child sends frames through a pipe: verdicts as they come,
 * progress, and at its end a status with its message. The parent takes them in the order of the scenarios, so that
 * nothing shows how many there were.
 *
 * The parent must not have run anything before: neither OpenMP's threads nor a GPU's context survive a fork. */
#include "sim/cli/run.h"

#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum frame_kind { FRAME_VERDICT, FRAME_PROGRESS, FRAME_END };
struct frame {
    enum frame_kind kind;
    size_t size; /* of what follows */
};
struct frame_progress {
    double n_done;
    int64_t bytes;
};
struct frame_end {
    enum cs_status status;
    char text[2048];
};

/* One scenario. */
struct job {
    pid_t pid;
    int pipe; /* -1: not started, or closed */
    bool is_started, is_over, has_end;
    char *buffer; /* what arrived and is no whole frame yet */
    size_t n, capacity;
    size_t n_verdicts, verdicts_capacity, n_taken;
    struct cs_verdict *verdicts;
    struct frame_progress progress;
    struct frame_end end;
    int exit_status; /* of waitpid */
};

struct jobs {
    struct cs_run *run;
    size_t n, n_running, next, current; /* next: to start; current: whose verdicts are taken */
    struct job *items;
};

/* ---- the child ---- */

struct child {
    int pipe;
    bool tells_progress;
    double last;
};

static enum cs_status send_bytes(int pipe, const void *bytes, size_t size) {
    for (const char *at = bytes; size > 0;) {
        ssize_t n = write(pipe, at, size);
        if (n < 0 && errno == EINTR) continue;
        CS_REQUIRE(n >= 0, CS_INTERNAL, "a child process cannot send its verdict: %s", strerror(errno));
        at += n;
        size -= (size_t)n;
    }
    return CS_OK;
}

static enum cs_status send_frame(int pipe, enum frame_kind kind, const void *bytes, size_t size) {
    const struct frame frame = {kind, size};
    CS_TRY(send_bytes(pipe, &frame, sizeof frame));
    return send_bytes(pipe, bytes, size);
}

static enum cs_status send_verdict(void *context, const struct cs_verdict *verdict) {
    const struct child *child = context;
    size_t size;
    char *bytes = cs_verdict_pack(verdict, &size);
    CS_REQUIRE(bytes, CS_NO_MEMORY, "no memory to send a verdict");
    enum cs_status status = send_frame(child->pipe, FRAME_VERDICT, bytes, size);
    free(bytes);
    return status;
}

static void send_progress(void *context, double n_done, int64_t bytes) {
    struct child *child = context;
    const struct frame_progress progress = {n_done, bytes};
    double now = cs_progress_now();
    if (!child->tells_progress || now - child->last < 0.1) return;
    child->last = now;
    send_frame(child->pipe, FRAME_PROGRESS, &progress, sizeof progress);
}

/* Children share the processors that one process would have had to itself. */
static void share_processors(size_t n_jobs) {
    int threads = omp_get_max_threads() / (int)n_jobs;
    omp_set_num_threads(threads > 0 ? threads : 1);
}

/* Whoever has said all that it has to say leaves in good order: a process that is ended while it leaves may say things
 * that are no results, as leak checkers do. */
static void hold_end_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static enum cs_status run_child(struct cs_run *run, const struct cs_scenario *scenario, int pipe) {
    struct child child = {.pipe = pipe, .tells_progress = run->progress.out != NULL};
    const struct cs_run_listener listener = {&child, send_verdict, send_progress};
    struct frame_end end = {0};
    run->is_child = true;
    if (!freopen("/dev/null", "w", stdout)) return cs_fail(CS_INTERNAL, "/dev/null: %s", strerror(errno));
    signal(SIGTERM, SIG_DFL);         /* whoever started the parent may ignore it; this is how it ends us */
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* whoever kills the parent means us too */
    share_processors(run->n_jobs);
    end.status = cs_run_scenario(run, scenario, &run->arena, &listener);
    if (end.status != CS_OK) snprintf(end.text, sizeof end.text, "%s", cs_error_text());
    hold_end_signal();
    CS_TRY(send_frame(pipe, FRAME_END, &end, sizeof end));
    close(pipe);
    return CS_OK;
}

/* ---- starting ---- */

static enum cs_status start(struct jobs *jobs) {
    struct cs_run *run = jobs->run;
    struct job *job = &jobs->items[jobs->next];
    const struct cs_scenario *scenario = &run->scenarios.items[jobs->next];
    int ends[2];
    CS_REQUIRE(pipe(ends) == 0, CS_INTERNAL, "scenario %s: no pipe for its process: %s", scenario->name,
               strerror(errno));
    fflush(NULL); /* or the child would print it again */
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < jobs->next; i++)
            if (jobs->items[i].pipe >= 0) close(jobs->items[i].pipe);
        close(ends[0]);
        return run_child(run, scenario, ends[1]);
    }
    int error = errno;
    close(ends[1]);
    if (pid < 0) close(ends[0]);
    CS_REQUIRE(pid > 0, CS_INTERNAL, "scenario %s: no process for it: %s", scenario->name, strerror(error));
    job->pid = pid;
    job->pipe = ends[0];
    job->is_started = true;
    jobs->next++;
    jobs->n_running++;
    return CS_OK;
}

static enum cs_status start_all(struct jobs *jobs) {
    while (!jobs->run->is_child && jobs->next < jobs->n && jobs->n_running < jobs->run->n_jobs) CS_TRY(start(jobs));
    return CS_OK;
}

/* ---- receiving ---- */

static enum cs_status take_verdict_frame(struct jobs *jobs, struct job *job, const char *bytes, size_t size) {
    struct cs_arena *arena = &jobs->run->arena;
    void *items = job->verdicts;
    struct cs_verdict *slot = cs_arena_grow(arena, &items, job->n_verdicts, &job->verdicts_capacity, sizeof *slot);
    CS_REQUIRE(slot, CS_NO_MEMORY, "no memory for verdicts");
    job->verdicts = items;
    CS_TRY(cs_verdict_unpack(bytes, size, arena, slot));
    job->n_verdicts++;
    return CS_OK;
}

static enum cs_status take_frame(struct jobs *jobs, struct job *job, const struct frame *frame, const char *bytes) {
    if (frame->kind == FRAME_VERDICT) return take_verdict_frame(jobs, job, bytes, frame->size);
    if (frame->kind == FRAME_PROGRESS) memcpy(&job->progress, bytes, sizeof job->progress);
    if (frame->kind == FRAME_END) {
        memcpy(&job->end, bytes, sizeof job->end);
        job->has_end = true;
    }
    return CS_OK;
}

static enum cs_status take_frames(struct jobs *jobs, struct job *job) {
    size_t at = 0;
    struct frame frame;
    while (job->n - at >= sizeof frame) {
        memcpy(&frame, job->buffer + at, sizeof frame);
        if (job->n - at - sizeof frame < frame.size) break;
        CS_TRY(take_frame(jobs, job, &frame, job->buffer + at + sizeof frame));
        at += sizeof frame + frame.size;
    }
    if (at) memmove(job->buffer, job->buffer + at, job->n - at);
    job->n -= at;
    return CS_OK;
}

static void reap(struct jobs *jobs, struct job *job) {
    close(job->pipe);
    job->pipe = -1;
    while (waitpid(job->pid, &job->exit_status, 0) < 0 && errno == EINTR) {
    }
    job->is_over = true;
    jobs->n_running--;
}

static enum cs_status receive(struct jobs *jobs, struct job *job) {
    enum { MORE = 1 << 16 };
    if (job->capacity - job->n < MORE) {
        char *wider = realloc(job->buffer, job->capacity * 2 + MORE);
        CS_REQUIRE(wider, CS_NO_MEMORY, "no memory for verdicts");
        job->buffer = wider;
        job->capacity = job->capacity * 2 + MORE;
    }
    ssize_t n = read(job->pipe, job->buffer + job->n, MORE);
    if (n < 0 && errno == EINTR) return CS_OK;
    if (n <= 0) {
        reap(jobs, job);
        return CS_OK;
    }
    job->n += (size_t)n;
    return take_frames(jobs, job);
}

static enum cs_status wait_for_any(struct jobs *jobs) {
    enum { WAIT_MS = 100 };
    struct pollfd *polled = calloc(jobs->n_running + 1, sizeof *polled);
    size_t n = 0;
    CS_REQUIRE(polled, CS_NO_MEMORY, "no memory to wait for %zu processes", jobs->n_running);
    for (size_t i = jobs->current; i < jobs->next; i++)
        if (jobs->items[i].pipe >= 0) polled[n++] = (struct pollfd){.fd = jobs->items[i].pipe, .events = POLLIN};
    int n_ready = poll(polled, (nfds_t)n, jobs->run->progress.out ? WAIT_MS : -1);
    enum cs_status status = CS_OK;
    for (size_t i = jobs->current, at = 0; n_ready > 0 && status == CS_OK && at < n; i++)
        if (jobs->items[i].pipe == polled[at].fd && polled[at++].revents) status = receive(jobs, &jobs->items[i]);
    free(polled);
    return status;
}

/* ---- in order ---- */

/* A child that did not come to its end, or did not leave in good order, is a fault of ours whatever it sent. */
static enum cs_status judge_end(const struct job *job, const struct cs_scenario *scenario) {
    if (WIFSIGNALED(job->exit_status))
        return cs_fail(CS_INTERNAL, "scenario %s (%s): its process was ended by signal %d (%s)", scenario->name,
                       scenario->file, WTERMSIG(job->exit_status), strsignal(WTERMSIG(job->exit_status)));
    CS_REQUIRE(job->has_end && WEXITSTATUS(job->exit_status) == 0, CS_INTERNAL,
               "scenario %s (%s): its process ended with exit status %d", scenario->name, scenario->file,
               WEXITSTATUS(job->exit_status));
    CS_REQUIRE(job->end.status == CS_OK, job->end.status, "%s", job->end.text);
    return CS_OK;
}

static bool is_stopped(const struct jobs *jobs) { return jobs->run->stops_early && jobs->run->totals.failed; }

static enum cs_status take_in_order(struct jobs *jobs) {
    for (; jobs->current < jobs->next; jobs->current++) {
        struct job *job = &jobs->items[jobs->current];
        while (job->n_taken < job->n_verdicts && !is_stopped(jobs))
            CS_TRY(cs_run_take(jobs->run, &job->verdicts[job->n_taken++]));
        if (!job->is_over || is_stopped(jobs)) return CS_OK;
        CS_TRY(judge_end(job, &jobs->run->scenarios.items[jobs->current]));
    }
    return CS_OK;
}

static void show_progress(struct jobs *jobs) {
    double n_done = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < jobs->next; i++) {
        const struct job *job = &jobs->items[i];
        n_done +=
            job->is_over ? (double)cs_run_n_verdicts(jobs->run, &jobs->run->scenarios.items[i]) : job->progress.n_done;
        bytes += job->progress.bytes;
    }
    cs_run_show_progress(jobs->run, jobs->next - jobs->n_running, jobs->current, n_done, bytes);
}

static enum cs_status run_all(struct jobs *jobs) {
    while (jobs->current < jobs->n && !is_stopped(jobs)) {
        CS_TRY(start_all(jobs));
        if (jobs->run->is_child) return CS_OK;
        CS_TRY(wait_for_any(jobs));
        CS_TRY(take_in_order(jobs));
        show_progress(jobs);
    }
    return CS_OK;
}

/* Those that nobody waits for any more: after -x, or after an error. */
static void end_all(struct jobs *jobs) {
    for (size_t i = 0; i < jobs->n; i++) {
        struct job *job = &jobs->items[i];
        bool is_running = job->is_started && !job->is_over && !jobs->run->is_child;
        if (is_running) kill(job->pid, SIGTERM);
        if (is_running) reap(jobs, job);
        free(job->buffer);
    }
}

enum cs_status cs_run_jobs(struct cs_run *run) {
    struct jobs jobs = {
        .run = run, .n = run->scenarios.n, .items = CS_NEW_ARRAY(&run->arena, struct job, run->scenarios.n)};
    CS_REQUIRE(jobs.items, CS_NO_MEMORY, "no memory for %zu processes", jobs.n);
    if (run->n_jobs > jobs.n) run->n_jobs = jobs.n;
    for (size_t i = 0; i < jobs.n; i++) jobs.items[i].pipe = -1;
    enum cs_status status = run_all(&jobs);
    end_all(&jobs);
    return status;
}
