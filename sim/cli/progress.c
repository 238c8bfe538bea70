#include "sim/cli/progress.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 512, USUAL_COLUMNS = 80 };

static const double quiet_seconds = 1, rewrite_seconds = 0.1, heartbeat_seconds = 10;

double cs_progress_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void cs_progress_start(struct cs_progress *progress, FILE *out, const char *what, size_t n, double now) {
    const char *term = getenv("TERM");
    bool can_rewrite = !(term && cs_text_equal(term, "dumb"));
    *progress = (struct cs_progress){.out = out,
                                     .is_terminal = out && can_rewrite && isatty(fileno(out)),
                                     .what = what,
                                     .n = n,
                                     .start = now,
                                     .last = now};
}

static bool is_due(const struct cs_progress *progress, double now) {
    if (!progress->is_terminal) return now - progress->last >= heartbeat_seconds;
    return now - progress->start >= quiet_seconds && (!progress->is_shown || now - progress->last >= rewrite_seconds);
}

/* Things a second when that is a number to look at, else bytes a second. */
static void rate_text(const struct cs_progress *progress, const struct cs_progress_at *at, double seconds, char *text,
                      size_t size) {
    double rate = (double)at->n_done / seconds;
    if (rate >= 1 || at->bytes == 0)
        snprintf(text, size, "%.1f %ss/s", rate, progress->what);
    else
        snprintf(text, size, "%.2f GB/s", (double)at->bytes / seconds * 1e-9);
}

static void left_text(const struct cs_progress_at *at, double seconds, char *text, size_t size) {
    double left = at->share > 0 ? seconds * (1 - at->share) / at->share : -1;
    if (left < 0)
        snprintf(text, size, "time left unknown");
    else if (left < 100)
        snprintf(text, size, "about %.0f s left", left);
    else
        snprintf(text, size, "about %.0f min left", left / 60);
}

/* A longer line would wrap, and its first half could not be rewritten. */
static size_t columns_of(const struct cs_progress *progress) {
    struct winsize window;
    bool is_known = ioctl(fileno(progress->out), TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
    return (is_known ? window.ws_col : USUAL_COLUMNS) - 1;
}

void cs_progress_show(struct cs_progress *progress, const struct cs_progress_at *at, double now) {
    if (!progress->out || !is_due(progress, now)) return;
    char rate[64], left[64], line[LINE];
    double seconds = now - progress->start;
    rate_text(progress, at, seconds, rate, sizeof rate);
    left_text(at, seconds, left, sizeof left);
    size_t current = at->n_done < progress->n ? at->n_done + 1 : progress->n;
    snprintf(line, sizeof line, "%s %zu of %zu, %s, %s%s%s", progress->what, current, progress->n, rate, left,
             at->name ? ": " : "", at->name ? at->name : "");
    if (progress->is_terminal)
        fprintf(progress->out, "\r\033[K%.*s", (int)columns_of(progress), line);
    else
        fprintf(progress->out, "%s\n", line);
    fflush(progress->out);
    progress->is_shown = progress->is_terminal;
    progress->last = now;
}

void cs_progress_clear(struct cs_progress *progress) {
    if (progress->is_shown) fputs("\r\033[K", progress->out);
    progress->is_shown = false;
}
