/* Reports as files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/report/report.h"

/* Whether everything reached `out`. */
static bool put(FILE *out, const char *text) {
    return fputs(text, out) != EOF && fputc('\n', out) != EOF && fflush(out) == 0;
}

static enum cs_status write_to(const char *path, int descriptor, const char *text) {
    FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!out) {
        enum cs_status status = cs_fail(CS_BAD_FILE, "cannot write \"%s\": %s", path, strerror(errno));
        if (descriptor >= 0) close(descriptor);
        return status;
    }
    bool is_put = put(out, text);
    int error = errno;
    if (fclose(out) != 0 && is_put) is_put = false, error = errno;
    CS_REQUIRE(is_put, CS_BAD_FILE, "cannot write \"%s\": %s", path, strerror(error));
    return CS_OK;
}

/* Readers see the old report or the new one, never half of one. */
static enum cs_status write_and_rename(const char *path, const char *temporary, const char *text) {
    unlink(temporary); /* of a run that was killed and had our process id */
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    enum cs_status status = write_to(temporary, descriptor, text);
    if (status == CS_OK && rename(temporary, path) != 0)
        status = cs_fail(CS_BAD_FILE, "cannot rename \"%s\" to \"%s\": %s", temporary, path, strerror(errno));
    if (status != CS_OK && descriptor >= 0) unlink(temporary);
    return status;
}

static enum cs_status write_file(const char *path, const char *text) {
    struct stat found;
    if (lstat(path, &found) == 0 && !S_ISREG(found.st_mode)) /* a rename would replace /dev/null itself */
        return write_to(path, open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), text);
    struct cs_arena arena = {0};
    char *temporary = cs_arena_format(&arena, "%s.%ld.tmp", path, (long)getpid());
    enum cs_status status =
        temporary ? write_and_rename(path, temporary, text) : cs_fail(CS_NO_MEMORY, "no memory to write \"%s\"", path);
    cs_arena_release(&arena);
    return status;
}

enum cs_status cs_report_write(const char *path, const char *text) {
    if (!cs_text_equal(path, "-")) return write_file(path, text);
    CS_REQUIRE(put(stdout, text), CS_BAD_FILE, "cannot write the report to stdout: %s", strerror(errno));
    return CS_OK;
}
