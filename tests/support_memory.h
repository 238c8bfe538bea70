/* Memory runs out at every single place: each request for memory of a piece of work fails once, in a run of its own. Then the work
 * says CS_NO_MEMORY, or its result is that of a run with enough memory; it never crashes, keeps memory, or judges differently.
 *
 * The linker puts functions of support_memory.c in the place of the engine's requests (tests/CMakeLists.txt). An arena's requests
 * count too, although most of them are served from a chunk that it already has. */
#ifndef TESTS_SUPPORT_MEMORY_H
#define TESTS_SUPPORT_MEMORY_H

#include "sim/script/script.h"

/* One piece of work, and its result in words. */
struct work {
    enum cs_status (*run)(const struct work *work, struct cs_arena *arena, char *result);
    const struct cs_scenario *scenario;
    const char *policy, *device, *path, *line;
    bool is_recorded; /* the digests of its states are kept */
};
enum { RESULT = 1024 };

/* `fails_at`: the request that is refused, from 1; 0: none is, and the places of all are recorded. */
enum cs_status run_with(const struct work *work, size_t fails_at, char *result);
void every_request_may_fail(const struct work *work);

#endif
