/* A campaign as JSON, for its folder, for reports and for merging. Inside sim/cli only. */
#ifndef CS_CLI_FUZZ_JSON_H
#define CS_CLI_FUZZ_JSON_H

#include <jansson.h>

#include "sim/cli/fuzz.h"

/* NULL: no memory. The caller owns it. */
json_t *cs_campaign_json(const struct cs_campaign *campaign);
/* Reads what cs_campaign_write wrote. CS_BAD_FILE names the file, the field, what it holds and what it should: after CS_OK
 * every field is there, of its type and in its range. The caller owns it; NULL after a failure. */
enum cs_status cs_campaign_read(const char *path, json_t **result);
/* It has a canary that was not found: its silence means nothing. */
bool cs_campaign_is_blind(const json_t *result);
enum cs_status cs_campaign_write(const char *path, const struct cs_campaign *campaign);
/* Result of one campaign, or of several merged, as JUnit. */
enum cs_status cs_write_junit(const char *path, const json_t *result);

#endif
