/* Judging an expectation against counts. Private to this folder. */
#ifndef CS_EXPECT_H
#define CS_EXPECT_H

#include "sim/audit/state.h"

/* Only that devices agree: a cold start, or other garbage, could tell nothing more. */
bool cs_expected_asks_devices_only(const struct cs_expected *expected);
/* In words: "params_differ = 8, side_moved = 6", "equal()". */
const char *cs_expected_text(const struct cs_expected *expected, struct cs_arena *arena);
/* NULL when the counts are as expected; else what is not, such as "side_moved: expected 6, got 0". Adds the bits of
 * what is not to `seen`. */
const char *cs_expected_judge(const struct cs_expected *expected, const int64_t *count, struct cs_arena *arena,
                              uint64_t *seen);
/* The same for the parameter values of a toy. */
enum cs_status cs_expected_values_judge(const struct cs_expected *expected, struct cs_session *session,
                                        struct cs_arena *arena, const char **reason, uint64_t *seen);

#endif
