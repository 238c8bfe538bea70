#include "sim/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* jansson answers NULL or -1 when memory is out and passes either on, so a whole report is built first and asked once:
 * every put() adds to `failures`. */
static void put(json_t *object, const char *key, json_t *value, int *failures) {
    if (json_object_set_new(object, key, value) != 0) ++*failures;
}

static void append(json_t *array, json_t *value, int *failures) {
    if (json_array_append_new(array, value) != 0) ++*failures;
}

/* ---- values ---- */

/* JSON is UTF-8 and file names need not be: what is not becomes '?', so that a strange path does not cost the report.
 */
static json_t *text_or_null(const char *text) {
    if (!text) return json_null();
    json_t *value = json_string(text);
    if (value) return value;
    char *ascii = strdup(text);
    if (!ascii) return NULL;
    for (char *c = ascii; *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    value = json_string(ascii);
    free(ascii);
    return value;
}

static json_t *coordinate(int64_t value) { return value < 0 ? json_null() : json_integer(value); }

/* NaN and infinities have no JSON number: null, and the bits say which. */
static json_t *number(enum cs_dtype dtype, uint64_t bits) {
    double value = cs_dtype_decode(dtype, bits);
    bool is_exact_integer = !cs_dtype_is_floating(dtype) && fabs(value) <= 0x1p53;
    if (is_exact_integer) return json_integer((json_int_t)value);
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *hex(enum cs_dtype dtype, uint64_t bits) {
    return json_sprintf("0x%0*" PRIx64, (cs_dtype_bits(dtype) + 3) / 4, bits);
}

static json_t *texts(const char *const *items, size_t n, int *failures) {
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) append(array, text_or_null(items[i]), failures);
    return array;
}

/* ---- parts of a verdict ---- */

static json_t *first_difference(const struct cs_first *first, int *failures) {
    if (!first->exists) return json_null();
    bool has_values = first->byte_class != CS_BYTE_LAYOUT;
    json_t *object = json_object();
    put(object, "tensor", text_or_null(first->tensor), failures);
    put(object, "rank", json_integer(first->rank), failures);
    put(object, "layer", coordinate(first->layer), failures);
    put(object, "expert", coordinate(first->expert), failures);
    put(object, "row", coordinate(first->row), failures);
    put(object, "column", coordinate(first->column), failures);
    put(object, "byte_class", json_string(cs_byte_class_name(first->byte_class)), failures);
    put(object, "dtype", json_string(cs_dtype_name(first->dtype)), failures);
    put(object, "expected", has_values ? number(first->dtype, first->expected) : json_null(), failures);
    put(object, "actual", has_values ? number(first->dtype, first->actual) : json_null(), failures);
    put(object, "expected_bits", has_values ? hex(first->dtype, first->expected) : json_null(), failures);
    put(object, "actual_bits", has_values ? hex(first->dtype, first->actual) : json_null(), failures);
    put(object, "elements_differ", json_integer(first->n_elements), failures);
    put(object, "elements_total", json_integer(first->n_total), failures);
    return object;
}

static json_t *accounting(const struct cs_verdict *verdict, int *failures) {
    json_t *object = json_object();
    put(object, "missing", json_integer(verdict->count[CS_COUNT_missing]), failures);
    put(object, "duplicate", json_integer(verdict->count[CS_COUNT_duplicate]), failures);
    put(object, "excess", json_integer(verdict->count[CS_COUNT_excess]), failures);
    put(object, "not_simulated", json_integer(verdict->not_simulated), failures);
    return object;
}

static json_t *declared_value(const struct cs_declared *option) {
    switch (option->kind) {
    case CS_DECLARED_INTEGER:
        return json_integer(strtoll(option->value, NULL, 10));
    case CS_DECLARED_NUMBER:
        return json_real(strtod(option->value, NULL));
    case CS_DECLARED_BOOLEAN:
        return json_boolean(cs_text_equal(option->value, "true"));
    case CS_DECLARED_STRING:
        break;
    }
    return text_or_null(option->value);
}

static json_t *declared_options(const struct cs_scenario *scenario, int *failures) {
    json_t *object = json_object();
    for (size_t i = 0; i < scenario->n_declared; i++)
        put(object, scenario->declared[i].name, declared_value(&scenario->declared[i]), failures);
    return object;
}

/* Every count under its own name, but for those that have an object of their own. */
static void put_counts(json_t *object, const struct cs_verdict *verdict, int *failures) {
    for (enum cs_count i = 0; i < CS_N_COUNTS; i++) {
        if (i == CS_COUNT_missing || i == CS_COUNT_duplicate || i == CS_COUNT_excess) continue;
        put(object, cs_count_names[i], json_integer(verdict->count[i]), failures);
    }
    put(object, "params_total", json_integer(verdict->params_total), failures);
    put(object, "graph_differ", json_integer(0),
        failures); /* a channel of later versions: readers need no second schema */
    put(object, "accounting", accounting(verdict, failures), failures);
}

static json_t *verdict_object(const struct cs_verdict *verdict, int *failures) {
    const struct cs_scenario *scenario = verdict->scenario;
    json_t *object = json_object();
    put(object, "name", text_or_null(scenario->name), failures);
    put(object, "file", text_or_null(scenario->file), failures);
    put(object, "line", json_integer(verdict->line), failures);
    put(object, "device", text_or_null(verdict->device), failures);
    put(object, "policy", text_or_null(verdict->policy), failures);
    put(object, "seed", json_integer((json_int_t)verdict->seed), failures);
    put(object, "status", json_string(cs_verdict_status_name(verdict->status)), failures);
    put(object, "reason", text_or_null(verdict->reason), failures);
    put(object, "refused_reason", text_or_null(verdict->refused_reason), failures);
    put(object, "warning", text_or_null(verdict->warning), failures);
    put(object, "expect", text_or_null(verdict->n_expectations ? verdict->expected : NULL), failures);
    put_counts(object, verdict, failures);
    put(object, "ranks", json_integer((json_int_t)verdict->n_ranks), failures);
    put(object, "tags", texts(scenario->tags, scenario->n_tags, failures), failures);
    put(object, "options", declared_options(scenario, failures), failures);
    put(object, "first", first_difference(&verdict->first, failures), failures);
    put(object, "why", texts(verdict->why, verdict->n_why, failures), failures);
    put(object, "seconds", json_real(verdict->seconds), failures);
    put(object, "bytes_moved", json_integer(verdict->bytes_moved), failures);
    put(object, "peak_bytes", json_integer(verdict->bytes_peak), failures);
    return object;
}

static json_t *totals_object(const struct cs_report_totals *totals, int *failures) {
    json_t *object = json_object();
    put(object, "passed", json_integer(totals->passed), failures);
    put(object, "failed", json_integer(totals->failed), failures);
    put(object, "skipped", json_integer(totals->skipped), failures);
    put(object, "mistrusted", json_integer(totals->mistrusted), failures);
    put(object, "refused", json_integer(totals->refused), failures);
    return object;
}

static json_t *report_object(const struct cs_verdict *verdicts, size_t n, const struct cs_report_totals *totals,
                             int *failures) {
    json_t *report = json_object(), *list = json_array();
    for (size_t i = 0; i < n; i++) append(list, verdict_object(&verdicts[i], failures), failures);
    put(report, "schema", json_integer(1), failures);
    put(report, "verdicts", list, failures);
    put(report, "totals", totals_object(totals, failures), failures);
    return report;
}

/* ---- writing ---- */

/* Whether everything reached `out`. */
static bool dump(FILE *out, const json_t *report) {
    return json_dumpf(report, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF && fflush(out) == 0;
}

static enum cs_status write_to(const char *path, int descriptor, const json_t *report) {
    FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!out) {
        enum cs_status status = cs_fail(CS_BAD_FILE, "cannot write \"%s\": %s", path, strerror(errno));
        if (descriptor >= 0) close(descriptor);
        return status;
    }
    bool is_dumped = dump(out, report);
    int error = errno;
    if (fclose(out) != 0 && is_dumped) is_dumped = false, error = errno;
    CS_REQUIRE(is_dumped, CS_BAD_FILE, "cannot write \"%s\": %s", path, strerror(error));
    return CS_OK;
}

/* Readers see the old report or the new one, never half of one. */
static enum cs_status write_and_rename(const char *path, const char *temporary, const json_t *report) {
    unlink(temporary); /* of a run that was killed and had our process id */
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    enum cs_status status = write_to(temporary, descriptor, report);
    if (status == CS_OK && rename(temporary, path) != 0)
        status = cs_fail(CS_BAD_FILE, "cannot rename \"%s\" to \"%s\": %s", temporary, path, strerror(errno));
    if (status != CS_OK && descriptor >= 0) unlink(temporary);
    return status;
}

static enum cs_status write_file(const char *path, const json_t *report) {
    struct stat found;
    if (lstat(path, &found) == 0 && !S_ISREG(found.st_mode)) /* a rename would replace /dev/null itself */
        return write_to(path, open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), report);
    struct cs_arena arena = {0};
    char *temporary = cs_arena_format(&arena, "%s.%ld.tmp", path, (long)getpid());
    enum cs_status status = temporary ? write_and_rename(path, temporary, report)
                                      : cs_fail(CS_NO_MEMORY, "no memory to write \"%s\"", path);
    cs_arena_release(&arena);
    return status;
}

enum cs_status cs_report_json(const char *path, const struct cs_verdict *verdicts, size_t n,
                              const struct cs_report_totals *totals) {
    int failures = 0;
    json_t *report = report_object(verdicts, n, totals, &failures);
    enum cs_status status = CS_OK;
    if (!report || failures)
        status = cs_fail(CS_NO_MEMORY, "no memory for the JSON report of %zu verdicts", n);
    else if (!cs_text_equal(path, "-"))
        status = write_file(path, report);
    else if (!dump(stdout, report))
        status = cs_fail(CS_BAD_FILE, "cannot write the JSON report to stdout: %s", strerror(errno));
    json_decref(report);
    return status;
}
