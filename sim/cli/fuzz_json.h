/* A campaign as JSON, for its folder, for reports and for merging. Inside sim/cli only. */
#ifndef CS_CLI_FUZZ_JSON_H
#define CS_CLI_FUZZ_JSON_H

#include <jansson.h>

#include "sim/cli/fuzz.h"

/* NULL: no memory. The caller owns it. */
json_t *cs_campaign_json(const struct cs_campaign *campaign);
enum cs_status cs_campaign_write(const char *path, const struct cs_campaign *campaign);
/* Result of one campaign, or of several merged, as JUnit. */
enum cs_status cs_write_junit(const char *path, const json_t *result);

#endif
