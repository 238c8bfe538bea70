#define _XOPEN_SOURCE 700 /* nftw */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support_script.h"

int script_folder_setup(void **state) {
    char *folder = strdup("/tmp/coldstart_script_XXXXXX");
    if (!folder || !mkdtemp(folder) || chdir(folder) != 0) return -1;
    *state = folder;
    return symlink(SOURCE_DIR "/scenarios/models", "models");
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk) {
    (void)info, (void)type, (void)walk;
    return remove(path);
}

int script_folder_teardown(void **state) {
    int failed = chdir("/") || nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return failed;
}

void script_write(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

enum cs_status script_parse(const char *text, struct cs_arena *arena, struct cs_scenario *scenario) {
    script_write("s.lua", text);
    return cs_script_parse("s.lua", NULL, 0, arena, scenario);
}

struct cs_scenario script_parse_good(const char *text, struct cs_arena *arena) {
    struct cs_scenario scenario;
    enum cs_status status = script_parse(text, arena, &scenario);
    if (status != CS_OK) fail_msg("%s", cs_error_text());
    return scenario;
}
