/* Progress of something long, on stderr: how far it is, how fast, and how much time is left.
 *
 * On a terminal it is one line that is rewritten in place, from the first second on; elsewhere a line every ten
 * seconds. Whoever works calls cs_progress_show as often as it likes. Times are passed in, so that tests need not wait.
 */
#ifndef CS_CLI_PROGRESS_H
#define CS_CLI_PROGRESS_H

#include <stdio.h>

#include "sim/base/base.h"

struct cs_progress {
    FILE *out; /* NULL: shows nothing */
    bool is_terminal;
    const char *what;   /* that is counted: "scenario" */
    size_t n;           /* of them, in all */
    double start, last; /* seconds: when it began; when a line was shown last */
    bool is_shown;      /* a line that must be cleared before anything else is printed */
};

struct cs_progress_at {
    size_t n_done;    /* finished ones */
    double share;     /* of the whole work, 0 … 1 */
    int64_t bytes;    /* moved so far */
    const char *name; /* of what is worked on, or NULL */
};

double cs_progress_now(void);
/* `out` NULL: shows nothing. */
void cs_progress_start(struct cs_progress *progress, FILE *out, const char *what, size_t n, double now);
void cs_progress_show(struct cs_progress *progress, const struct cs_progress_at *at, double now);
/* Before something else is printed, and at the end. */
void cs_progress_clear(struct cs_progress *progress);

#endif
