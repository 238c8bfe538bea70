#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support_files.h"

int make_test_folder(void **state) {
    char *folder = strdup("/tmp/coldstart_test_XXXXXX");
    *state = folder;
    return folder && mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static bool is_real_name(const char *name) { return strcmp(name, ".") != 0 && strcmp(name, "..") != 0; }

int remove_test_folder(void **state) {
    char *folder = *state;
    DIR *listing = opendir(folder);
    if (!listing) return -1;
    for (struct dirent *item; (item = readdir(listing));)
        if (is_real_name(item->d_name) && unlink(path_in(folder, item->d_name)) != 0)
            rmdir(path_in(folder, item->d_name));
    closedir(listing);
    int status = rmdir(folder);
    free(folder);
    return status;
}

const char *path_in(const char *folder, const char *name) {
    static char paths[8][512];
    static size_t turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void write_bytes(const char *path, const void *bytes, size_t size) {
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(size ? fwrite(bytes, 1, size, out) : 0, size);
    assert_int_equal(fclose(out), 0);
}

void write_safetensors(const char *path, const char *header, size_t payload) {
    size_t length = strlen(header), size = 8 + length + payload;
    unsigned char *bytes = malloc(size);
    assert_non_null(bytes);
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < payload; i++) bytes[8 + length + i] = (unsigned char)i;
    write_bytes(path, bytes, size);
    free(bytes);
}

size_t count_files(const char *folder) {
    size_t n = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *item; (item = readdir(listing));) n += is_real_name(item->d_name);
    closedir(listing);
    return n;
}

enum { NOBODY = 65534 };

bool drop_root(void) { return geteuid() != 0 || seteuid(NOBODY) == 0; }

void regain_root(void) {
    if (getuid() == 0) assert_int_equal(seteuid(0), 0);
}
