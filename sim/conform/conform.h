/* Conformance: proves that this program does to bytes what the real libraries did.
 *
 * A folder of golden files holds what was captured from them, in up to three families:
 *   layouts/  kernel layouts and post-load: input bytes, output bytes           index.json, <case>.safetensors
 *   loaders/  what loaders write, from where, and what they leave alone         <method>.json, <case>.safetensors
 *   reload/   whole reloads of small models, as hashes of every tensor          scenarios.json
 * Every case is run through the product's own layouts, loaders, methods, drivers and device; conformance only prepares
 * the input and compares. What a loader wrote, and from where, is read back from bytes, never from our own log.
 *
 * A case whose operation, method or sequence we do not have is unsupported and never passes; one that nobody can repeat,
 * since what its memory held was not recorded, is counted apart, with the reason. A refusal in place of an
 * answer fails the case. Some captured behaviour is a defect of the release: such a case is tried again with that
 * defect switched on, and says so when it matches only then. */
#ifndef CS_CONFORM_H
#define CS_CONFORM_H

#include <stdio.h>

#include "sim/device/device.h"

struct cs_conform_options {
    const char *folder; /* with layouts/, loaders/ or reload/ in it */
    const struct cs_device *device;
    const char *filter; /* only cases with this text in "family/file/case", or NULL: all */
    FILE *out;          /* one line per failed case, counts by family, "P of T passed, U unsupported" */
};

enum { CS_CONFORM_FAMILIES = 3 };

struct cs_conform_count {
    const char *family;
    int64_t passed, failed, unsupported;
    int64_t with_defect;    /* of those that passed */
    int64_t not_replayable; /* nobody can repeat them: what they saw was not recorded */
};

struct cs_conform_result {
    struct cs_conform_count family[CS_CONFORM_FAMILIES];
    struct cs_conform_count total;
};

/* Runs what is selected. CS_OK even when cases failed: see the result. CS_BAD_FILE when the folder, or a file that
 * lists cases, cannot be read. */
enum cs_status cs_conform(const struct cs_conform_options *options, struct cs_conform_result *result);

#endif
