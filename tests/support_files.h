/* Files for tests: a folder of its own for each test, and safetensors files whose header is spelled out by hand. */
#ifndef TESTS_SUPPORT_FILES_H
#define TESTS_SUPPORT_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* cmocka setup and teardown: `*state` is the path of an empty folder, removed with its files afterwards. */
int make_test_folder(void **state);
int remove_test_folder(void **state);

/* "folder/name", good until the eighth call after this one. */
const char *path_in(const char *folder, const char *name);

void write_bytes(const char *path, const void *bytes, size_t size);

/* Length, `header` as it is, then `payload` bytes 0, 1, 2, … */
void write_safetensors(const char *path, const char *header, size_t payload);

/* Number of files in a folder. */
size_t count_files(const char *folder);

/* Gives up root's right to open everything, so that permissions can be tested; false when nobody could. */
bool drop_root(void);
void regain_root(void);

#endif
