/* Files that are read, and written whole or not at all. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/base.h"

static enum cs_status cannot_write(const char *path, int error) {
    return cs_fail(CS_INTERNAL, "cannot write \"%s\": %s: name a file in a folder that is there and has room", path,
                   strerror(error));
}

/* As the process is now, not as whoever started it. */
static bool may_write(const char *path, int how) { return faccessat(AT_FDCWD, path, how, AT_EACCESS) == 0; }

enum cs_status cs_write_check(const char *path) {
    if (cs_text_equal(path, "-")) return CS_OK;
    struct stat found, link;
    bool is_there = stat(path, &found) == 0;
    int error = errno;
    if (!is_there && lstat(path, &link) == 0) return cannot_write(path, error); /* a link to nothing */
    if (!*path) return cannot_write(path, ENOENT);
    if (is_there && S_ISDIR(found.st_mode)) return cannot_write(path, EISDIR);
    if (is_there && !may_write(path, W_OK)) return cannot_write(path, errno);
    if (is_there && !S_ISREG(found.st_mode)) return CS_OK;
    struct cs_arena arena = {0};
    char *folder = cs_arena_text(&arena, path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash) slash[slash == folder] = 0;
    error = may_write(slash ? folder : ".", W_OK | X_OK) ? 0 : errno;
    cs_arena_release(&arena);
    return error ? cannot_write(path, error) : CS_OK;
}

/* Whether everything reached `out`. */
static bool put(FILE *out, const char *text) {
    size_t size = strlen(text);
    bool has_newline = size && text[size - 1] == '\n';
    return fputs(text, out) != EOF && (has_newline || fputc('\n', out) != EOF) && fflush(out) == 0;
}

static enum cs_status write_to(const char *path, int descriptor, const char *text) {
    FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!out) {
        enum cs_status status = cannot_write(path, errno);
        if (descriptor >= 0) close(descriptor);
        return status;
    }
    bool is_put = put(out, text);
    int error = errno;
    if (fclose(out) != 0 && is_put) is_put = false, error = errno;
    return is_put ? CS_OK : cannot_write(path, error);
}

/* Readers see the old file or the new one, never half of one. `mode`: of the old file, or 0. */
static enum cs_status write_and_rename(const char *path, const char *temporary, mode_t mode, const char *text) {
    unlink(temporary); /* of a run that was killed and had our process id */
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) return cannot_write(path, errno);
    if (mode) fchmod(descriptor, mode & 07777);
    enum cs_status status = write_to(path, descriptor, text);
    if (status == CS_OK && rename(temporary, path) != 0) status = cannot_write(path, errno);
    if (status != CS_OK) unlink(temporary);
    return status;
}

/* Beside the file, since only there can it be renamed; its length does not depend on the file's name, which may be as
 * long as names can be. */
static char *temporary_beside(const char *path, struct cs_arena *arena) {
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 0;
    return cs_arena_format(arena, "%.*s.coldstart.%ld.tmp", length, path, (long)getpid());
}

static enum cs_status write_file(const char *path, const char *text) {
    struct stat found;
    bool is_there = stat(path, &found) == 0;
    if (is_there && !S_ISREG(found.st_mode)) /* a rename would replace /dev/null itself */
        return write_to(path, open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), text);
    struct cs_arena arena = {0};
    char *real = is_there ? realpath(path, NULL) : NULL; /* a link stays a link */
    char *temporary = temporary_beside(real ? real : path, &arena);
    enum cs_status status = temporary
                                ? write_and_rename(real ? real : path, temporary, is_there ? found.st_mode : 0, text)
                                : cs_fail(CS_NO_MEMORY, "no memory to write \"%s\"", path);
    free(real);
    cs_arena_release(&arena);
    return status;
}

enum cs_status cs_write_text(const char *path, const char *text) {
    if (!cs_text_equal(path, "-")) return write_file(path, text);
    CS_REQUIRE(put(stdout, text), CS_INTERNAL, "cannot write to stdout: %s", strerror(errno));
    return CS_OK;
}

json_t *cs_json_text(const char *text) {
    char *valid = strdup(text);
    if (!valid) return NULL;
    cs_text_make_valid(valid);
    json_t *value = json_string(valid);
    free(valid);
    return value;
}

enum cs_status cs_write_json(const char *path, const json_t *object, size_t flags) {
    char *text = json_dumps(object, flags);
    CS_REQUIRE(text, CS_NO_MEMORY, "no memory for the JSON of \"%s\"", path);
    enum cs_status status = cs_write_text(path, text);
    free(text);
    return status;
}

enum cs_status cs_write_with(const char *path, cs_writer *writer, const void *what) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    CS_REQUIRE(out, CS_NO_MEMORY, "no memory for \"%s\"", path);
    enum cs_status status = writer(out, what);
    bool is_whole = !ferror(out);
    is_whole = fclose(out) == 0 && is_whole;
    if (status == CS_OK && !is_whole) status = cs_fail(CS_NO_MEMORY, "no memory for \"%s\"", path);
    if (status == CS_OK) status = cs_write_text(path, text);
    free(text);
    return status;
}

/* ---- reading ---- */

static enum cs_status cannot_read(const char *path, int error) {
    return cs_fail(CS_BAD_FILE, "cannot read \"%s\": %s", path, strerror(error));
}

/* A folder opens, and reads as nothing. */
static enum cs_status check_regular(const char *path, int descriptor) {
    struct stat found;
    if (fstat(descriptor, &found) != 0) return cannot_read(path, errno);
    if (S_ISDIR(found.st_mode)) return cannot_read(path, EISDIR);
    CS_REQUIRE(S_ISREG(found.st_mode), CS_BAD_FILE, "%s: found a device or pipe, expected a file", path);
    return CS_OK;
}

enum cs_status cs_open_to_read(const char *path, FILE **file) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for who writes */
    *file = NULL;
    if (descriptor < 0) return cannot_read(path, errno);
    enum cs_status status = check_regular(path, descriptor);
    if (status == CS_OK && !(*file = fdopen(descriptor, "r"))) status = cannot_read(path, errno);
    if (status != CS_OK) close(descriptor);
    return status;
}

enum cs_status cs_read_json(const char *path, json_t **root) {
    json_error_t error;
    FILE *in;
    *root = NULL;
    CS_TRY(cs_open_to_read(path, &in));
    *root = json_loadf(in, JSON_REJECT_DUPLICATES, &error);
    fclose(in);
    CS_REQUIRE(*root, CS_BAD_FILE, "%s:%d: %s", path, error.line, error.text);
    return CS_OK;
}
