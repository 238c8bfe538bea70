#include "sim/cli/bench_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cli/cli.h"

static bool is_row(const json_t *row) {
    return json_is_string(json_object_get(row, "model")) && json_number_value(json_object_get(row, "per_second")) > 0;
}

static enum cs_status read_rows(const char *command, const char *path, json_t **rows) {
    json_error_t error;
    json_t *report = json_load_file(path, 0, &error), *found = json_object_get(report, "rows");
    bool is_good = json_array_size(found) > 0;
    for (size_t i = 0; i < json_array_size(found); i++) is_good = is_good && is_row(json_array_get(found, i));
    *rows = is_good ? json_incref(found) : NULL;
    json_decref(report);
    CS_REQUIRE(is_good, CS_BAD_FILE,
               "--peer %s: its --json file has no rows of \"model\" and \"per_second\": take what measures as "
               "tests/peer/reload_peer.py does", command);
    return CS_OK;
}

static enum cs_status run_command(const char *command, const char *path, struct cs_arena *arena) {
    const char *line = cs_arena_format(arena, "%s --json '%s' >&2", command, path);
    CS_REQUIRE(line, CS_NO_MEMORY, "no memory for the command of --peer");
    int status = system(line);
    CS_REQUIRE(status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0, CS_BAD_USAGE,
               "--peer %s: it ended with %s %d: nothing was measured", command,
               status != -1 && WIFSIGNALED(status) ? "signal" : "exit status",
               status == -1 ? -1 : WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return CS_OK;
}

enum cs_status cs_bench_peer_run(const char *command, json_t **rows) {
    const char *folder = getenv("TMPDIR");
    struct cs_arena arena = {0};
    char *path = cs_arena_format(&arena, "%s/coldstart_peer_XXXXXX", folder && *folder ? folder : "/tmp");
    CS_REQUIRE(path, CS_NO_MEMORY, "no memory for the name of a file");
    int file = mkstemp(path);
    enum cs_status status = CS_OK;
    if (file < 0)
        status = cs_fail(CS_BAD_FILE, "--peer: no temporary file can be made as %s: set TMPDIR to a folder that can be written", path);
    else
        close(file);
    if (status == CS_OK) status = run_command(command, path, &arena);
    if (status == CS_OK) status = read_rows(command, path, rows);
    if (file >= 0) unlink(path);
    cs_arena_release(&arena);
    return status;
}

double cs_bench_peer_rate(const json_t *rows, const char *what) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (cs_text_equal(json_string_value(json_object_get(row, "model")), what))
            return json_number_value(json_object_get(row, "per_second"));
    }
    return 0;
}
