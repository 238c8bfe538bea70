/* Golden cases for tests: copies of single captured cases in which one thing may be changed, and conformance run on
 * them. */
#ifndef TESTS_SUPPORT_GOLDEN_H
#define TESTS_SUPPORT_GOLDEN_H

#include <jansson.h>

#include "sim/conform/conform.h"

#define GOLDEN SOURCE_DIR "/tests/golden"

struct outcome {
    enum cs_status status;
    struct cs_conform_result result;
    char *text; /* everything printed; free it */
};

struct outcome conform(const char *folder, const char *filter);
/* The only selected case passes. */
void assert_passes(const char *folder, const char *filter, int64_t with_defect);
/* The folder's only case fails; what is printed names it and contains `reason`. */
void assert_fails(const char *folder, const char *name, const char *reason);

/* `state` is that of make_test_folder; the copy becomes the only case of its family. */
typedef void edit(json_t *json);
/* `flip`: the byte, counted from the end of the case's file, of which a bit is changed; 0: none. */
void copy_layout(void **state, const char *id, size_t flip);
void copy_loader(void **state, const char *file, const char *id, edit *change);
void copy_scenario(void **state, const char *id, edit *change);
/* Copies GOLDEN/from. */
void copy_bytes(const char *from, const char *to, size_t flip);

const char *family_folder(void **state, const char *family); /* made when it is not there */
void remove_family(const char *folder);
void write_json(const char *path, json_t *root); /* drops the reference */
int remove_golden_copies(void **state);          /* teardown */

#endif
