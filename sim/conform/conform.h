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

#include "sim/loader/loader.h"
#include "sim/method/method.h"

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

/* ---- what the cases are about ---- */

/* A case that we run, without running it: conformance fails when any of them does. */
struct cs_conform_subject {
    const char *operation;             /* layouts/: captured function */
    const struct cs_step_table *table; /* layouts/: which is this table of ours; or NULL */
    const struct cs_step_table *also[2]; /* and these, from other formats */
    const struct cs_method *method;    /* loaders/, reload/ and some operations; or NULL */
    const struct cs_backend *backend;
    const struct cs_loader *loader; /* NULL: post-load alone */
    bool has_post_load;             /* of this method and back end, bytes or hashes of what it leaves */
    int64_t n_cases;
};
struct cs_conform_subjects {
    size_t n, capacity;
    struct cs_conform_subject *items; /* each of them once */
};
/* Of all supported cases of a folder; in `arena`. CS_BAD_FILE as cs_conform. */
enum cs_status cs_conform_subjects(const char *folder, struct cs_arena *arena, struct cs_conform_subjects *subjects);

/* How much of a combination was captured. */
enum cs_proof {
    CS_PROOF_NOTHING,
    CS_PROOF_PARTS, /* with another back end; or some of the functions that it calls */
    CS_PROOF_BYTES,
};
enum cs_proof cs_conform_proves_loading(const struct cs_conform_subjects *subjects, const struct cs_method *method,
                                        const struct cs_backend *backend, const struct cs_loader *loader);
/* Whole, or every step that changes bytes: it calls a captured function, or is a captured layout. `missing`: the first
 * step that is neither, or NULL. */
enum cs_proof cs_conform_proves_post_load(const struct cs_conform_subjects *subjects, const struct cs_backend *backend,
                                          const char **missing);

#endif
