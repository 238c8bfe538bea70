#include "sim/report/report.h"

#include <jansson.h>
#include <math.h>

/* jansson answers NULL or -1 when memory is out and passes either on, so a whole report is built first and asked once:
 * every put() adds to `failures`. */
static void put(json_t *object, const char *key, json_t *value, int *failures) {
    if (json_object_set_new(object, key, value) != 0) ++*failures;
}

static void append(json_t *array, json_t *value, int *failures) {
    if (json_array_append_new(array, value) != 0) ++*failures;
}

/* ---- values ---- */

static json_t *text_or_null(const char *text) { return text ? cs_json_text(text) : json_null(); }

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
    put(object, "accounting", accounting(verdict, failures), failures);
}

/* What was allowed to differ, and why (R7). */
static json_t *differences(const struct cs_verdict *verdict, int *failures) {
    json_t *list = json_array();
    for (size_t i = 0; verdict->n_excused && i < verdict->scenario->n_excuses; i++) {
        const struct cs_excuse *declared = &verdict->scenario->excuses[i];
        json_t *object = json_object();
        put(object, "tensor", text_or_null(declared->tensor), failures);
        put(object, "reason", text_or_null(declared->reason), failures);
        put(object, "differed", json_integer(verdict->n_excused[i]), failures);
        append(list, object, failures);
    }
    return list;
}

static json_t *judged_states(const struct cs_verdict *verdict, int *failures) {
    json_t *list = json_array();
    for (size_t i = 0; i < verdict->n_states; i++) {
        const struct cs_judged_state *state = &verdict->states[i];
        json_t *object = json_object();
        put(object, "line", json_integer(state->line), failures);
        put(object, "server", json_sprintf("%016" PRIx64, state->server), failures);
        put(object, "cold_start", state->has_cold_start ? json_sprintf("%016" PRIx64, state->cold_start) : json_null(),
            failures);
        append(list, object, failures);
    }
    return list;
}

static json_t *verdict_object(const struct cs_verdict *verdict, int *failures) {
    const struct cs_scenario *scenario = verdict->scenario;
    json_t *object = json_object();
    put(object, "name", text_or_null(scenario->name), failures);
    put(object, "file", text_or_null(scenario->file), failures);
    put(object, "line", json_integer(verdict->line), failures);
    put(object, "device", text_or_null(verdict->device), failures);
    put(object, "policy", text_or_null(verdict->policy), failures);
    put(object, "mutant", text_or_null(verdict->mutant), failures);
    put(object, "seed", json_integer((json_int_t)verdict->seed), failures);
    put(object, "status", json_string(cs_verdict_status_name(verdict->status)), failures);
    put(object, "reason", text_or_null(verdict->reason), failures);
    put(object, "refused_reason", text_or_null(verdict->refused_reason), failures);
    put(object, "warning", text_or_null(verdict->warning), failures);
    put(object, "expect", text_or_null(verdict->n_expectations ? verdict->expected : NULL), failures);
    put_counts(object, verdict, failures);
    put(object, "differs", differences(verdict, failures), failures);
    put(object, "ranks", json_integer((json_int_t)verdict->n_ranks), failures);
    put(object, "tags", texts(scenario->tags, scenario->n_tags, failures), failures);
    put(object, "options", declared_options(scenario, failures), failures);
    put(object, "first", first_difference(&verdict->first, failures), failures);
    put(object, "why", texts(verdict->why, verdict->n_why, failures), failures);
    put(object, "seconds", json_real(verdict->seconds), failures);
    put(object, "digest", json_sprintf("%016" PRIx64, verdict->digest), failures);
    put(object, "states", judged_states(verdict, failures), failures);
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
    put(report, "device_left_out", text_or_null(totals->device_left_out), failures);
    put(report, "totals", totals_object(totals, failures), failures);
    return report;
}

/* ---- writing ---- */

enum cs_status cs_report_json(const char *path, const struct cs_verdict *verdicts, size_t n,
                              const struct cs_report_totals *totals) {
    int failures = 0;
    json_t *report = report_object(verdicts, n, totals, &failures);
    enum cs_status status = cs_write_json(path, failures ? NULL : report, JSON_INDENT(2));
    json_decref(report);
    return status;
}
