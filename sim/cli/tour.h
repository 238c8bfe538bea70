/* What the verb `coverage` does, and tour.c: taking ways of loading that nobody took. Inside sim/cli only. */
#ifndef CS_CLI_TOUR_H
#define CS_CLI_TOUR_H

#include "sim/cli/run.h"
#include "sim/coverage/coverage.h"

struct tour {
    struct cs_arena arena;
    struct cs_options options;
    struct cs_coverage_model model;
    struct cs_coverage coverage;
    const struct cs_device *device; /* of the run that is being made */
    const char *folder;  /* where its file is kept, or NULL */
    const char *reason;  /* why the latest scenario did not pass, or NULL */
    bool is_unsupported; /* since nobody simulates what it asks for */
    size_t n_taken, n_missed;
    uint64_t seed;
};

/* Takes what --hit and --next ask for, a line of stdout for each run; with --lua, prints the file instead. */
enum cs_status cs_tour_take(struct tour *tour);

#endif
