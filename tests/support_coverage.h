/* A test of coverage has a folder of its own, the model of this program's registries, and coverage of nothing. */
#ifndef TESTS_SUPPORT_COVERAGE_H
#define TESTS_SUPPORT_COVERAGE_H

#include "sim/coverage/coverage.h"

extern struct cs_arena arena;
extern struct cs_coverage_model model;
extern struct cs_coverage coverage;

/* cmocka setup and teardown. */
int open_coverage(void **state);
int close_coverage(void **state);

/* "driver=direct,policy=none" */
struct cs_way cell_of(const char *text);

#endif
