/* Coverage as JSON, version 1. Values of axes are listed once by name, and paths count from 0 in those lists, so that
 * files of programs with other registries can be read. */
#include <jansson.h>
#include <string.h>

#include "sim/coverage/internal.h"

enum { VERSION = 1 };

/* ---- writing ---- */

static json_t *axes_of(const struct cs_coverage_model *model) {
    json_t *axes = json_array();
    for (int a = 0; a < CS_N_PATH_AXES; a++) {
        json_t *values = json_array();
        for (size_t i = 0; i < model->axis[a].n; i++)
            json_array_append_new(values, json_string(model->axis[a].values[i]));
        json_array_append_new(axes, json_pack("{s:s, s:o}", "name", model->axis[a].name, "values", values));
    }
    return axes;
}

static json_t *paths_of(const struct cs_coverage *coverage) {
    json_t *paths = json_array();
    for (size_t p = 0; p < coverage->n_paths; p++) {
        const struct cs_seen_path *seen = &coverage->paths[p];
        json_t *row = json_array();
        for (int a = 0; a < CS_N_PATH_AXES; a++) json_array_append_new(row, json_integer(seen->path.value[a]));
        json_array_append_new(row, json_integer(seen->accepted));
        json_array_append_new(row, json_integer(seen->refused));
        json_array_append_new(row, json_string(seen->scenario));
        json_array_append_new(paths, row);
    }
    return paths;
}

static json_t *probes_of(const struct cs_coverage *coverage) {
    static const char *const names[] = {
#define X(name, text) #name,
        CS_LOAD_PROBES(X)
#undef X
    };
    json_t *probes = json_object();
    for (int i = 0; i < CS_N_LOAD_PROBES; i++) json_object_set_new(probes, names[i], json_integer(coverage->probes[i]));
    return probes;
}

static json_t *sequences_of(const struct cs_coverage *coverage) {
    json_t *sequences = json_object();
    for (size_t i = 0; i < coverage->n_sequences; i++)
        json_object_set_new(sequences, coverage->sequences[i].text, json_integer(coverage->sequences[i].n));
    return sequences;
}

enum cs_status cs_coverage_write(const char *path, const struct cs_coverage *coverage) {
    json_t *root = json_pack("{s:i, s:I, s:o, s:o, s:o, s:o}", "coverage", VERSION, "runs",
                             (json_int_t)coverage->n_runs, "axes", axes_of(coverage->model), "paths",
                             paths_of(coverage), "sequences", sequences_of(coverage), "probes", probes_of(coverage));
    CS_REQUIRE(root && json_array_size(json_object_get(root, "paths")) == coverage->n_paths, CS_NO_MEMORY,
               "no memory for the coverage of %zu paths", coverage->n_paths);
    enum cs_status status = cs_write_json(path, root, JSON_COMPACT);
    json_decref(root);
    return status;
}

/* ---- reading ---- */

struct reading {
    const char *path;
    struct cs_coverage *coverage;
    uint8_t value[CS_N_PATH_AXES][256]; /* ours, by the file's; CS_PATH_ANY: unknown here */
    size_t n[CS_N_PATH_AXES];
};

#define WANT(reading, condition, ...)                                                                                  \
    do {                                                                                                               \
        char text_[256];                                                                                               \
        snprintf(text_, sizeof text_, __VA_ARGS__);                                                                    \
        CS_REQUIRE(condition, CS_BAD_FILE, "%s: %s: write it anew with --coverage", (reading)->path, text_);           \
    } while (0)

static enum cs_status read_axes(struct reading *reading, const json_t *axes) {
    const struct cs_coverage_model *model = reading->coverage->model;
    WANT(reading, json_array_size(axes) == CS_N_PATH_AXES, "\"axes\" has %zu axes, expected %d", json_array_size(axes),
         CS_N_PATH_AXES);
    for (int a = 0; a < CS_N_PATH_AXES; a++) {
        const json_t *axis = json_array_get(axes, (size_t)a), *values = json_object_get(axis, "values");
        const char *name = json_string_value(json_object_get(axis, "name"));
        WANT(reading, cs_text_equal(name ? name : "", model->axis[a].name), "axis %d is \"%s\", expected \"%s\"", a,
             name ? name : "", model->axis[a].name);
        reading->n[a] = json_array_size(values);
        WANT(reading, reading->n[a] < CS_PATH_ANY, "axis \"%s\" has %zu values", model->axis[a].name, reading->n[a]);
        for (size_t i = 0; i < reading->n[a]; i++) {
            const char *text = json_string_value(json_array_get(values, i));
            int value = text ? cs_path_value(model, (enum cs_path_axis)a, text) : -1;
            reading->value[a][i] = value < 0 ? CS_PATH_ANY : (uint8_t)value;
        }
    }
    return CS_OK;
}

/* No count of ours comes near, and as many files as fit on a command line add up without overflow. */
static const json_int_t most_count = INT64_C(1) << 44;

static enum cs_status read_count(struct reading *reading, const json_t *value, const char *what, int64_t *count) {
    json_int_t found = json_integer_value(value);
    WANT(reading, json_is_integer(value), "%s is no whole number", what);
    WANT(reading, found >= 0 && found <= most_count, "%s is %" JSON_INTEGER_FORMAT ", expected a number from 0 to %" JSON_INTEGER_FORMAT,
         what, found, most_count);
    *count = found;
    return CS_OK;
}

static enum cs_status read_path(struct reading *reading, const json_t *row, size_t index) {
    struct cs_seen_path seen = {0};
    bool is_known = true;
    char what[64];
    WANT(reading, json_array_size(row) == CS_N_PATH_AXES + 3,
         "path %zu: no row of %d values, two counts and a scenario", index, CS_N_PATH_AXES);
    for (size_t a = 0; a < CS_N_PATH_AXES; a++) {
        const json_t *value = json_array_get(row, a);
        json_int_t i = json_integer_value(value);
        WANT(reading, json_is_integer(value), "path %zu, axis %zu: no whole number, expected one below %zu", index, a, reading->n[a]);
        WANT(reading, i >= 0 && (size_t)i < reading->n[a], "path %zu, axis %zu: %" JSON_INTEGER_FORMAT ", expected a number from 0 to below %zu",
             index, a, i, reading->n[a]);
        seen.path.value[a] = reading->value[a][i];
        is_known = is_known && seen.path.value[a] != CS_PATH_ANY;
    }
    snprintf(what, sizeof what, "path %zu: a count", index);
    CS_TRY(read_count(reading, json_array_get(row, CS_N_PATH_AXES), what, &seen.accepted));
    CS_TRY(read_count(reading, json_array_get(row, CS_N_PATH_AXES + 1), what, &seen.refused));
    seen.scenario = json_string_value(json_array_get(row, CS_N_PATH_AXES + 2));
    WANT(reading, seen.scenario, "path %zu: no scenario", index);
    reading->coverage->n_unknown += !is_known;
    return is_known ? cs_coverage_add(reading->coverage, &seen) : CS_OK;
}

static enum cs_status read_root(struct reading *reading, const json_t *root) {
    const json_t *version = json_object_get(root, "coverage"), *row;
    WANT(reading, json_is_integer(version), "\"coverage\", the version, is %s, expected %d",
         version ? "no whole number" : "missing", VERSION);
    WANT(reading, json_integer_value(version) == VERSION, "version %" JSON_INTEGER_FORMAT ", expected %d",
         json_integer_value(version), VERSION);
    CS_TRY(read_axes(reading, json_object_get(root, "axes")));
    const json_t *paths = json_object_get(root, "paths"), *sequences = json_object_get(root, "sequences"),
                 *probes = json_object_get(root, "probes");
    WANT(reading, json_is_array(paths), "\"paths\" is no list");
    WANT(reading, json_is_object(sequences), "\"sequences\" is no object");
    WANT(reading, json_is_object(probes), "\"probes\" is no object");
    size_t i;
    int64_t count;
    json_array_foreach(paths, i, row) CS_TRY(read_path(reading, row, i));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)sequences, key, value) {
        CS_TRY(read_count(reading, value, "a count of \"sequences\"", &count));
        CS_TRY(cs_coverage_add_sequence(reading->coverage, key, count));
    }
#define X(name, text)                                                                                                  \
    count = 0; /* an older program had fewer probes */                                                                 \
    value = json_object_get(probes, #name);                                                                            \
    if (value) CS_TRY(read_count(reading, value, "probe \"" #name "\"", &count));                                      \
    reading->coverage->probes[CS_LOAD_PROBE_##name] += count;
    CS_LOAD_PROBES(X)
#undef X
    CS_TRY(read_count(reading, json_object_get(root, "runs"), "\"runs\"", &count));
    reading->coverage->n_runs += count;
    return CS_OK;
}

enum cs_status cs_coverage_read(const char *path, struct cs_coverage *coverage) {
    json_t *root;
    enum cs_status read = cs_read_json(path, &root);
    CS_REQUIRE(read == CS_OK, read, "%s: give a file that `run --coverage` or `coverage --json` wrote",
               cs_error_text());
    struct reading reading = {.path = path, .coverage = coverage};
    enum cs_status status = read_root(&reading, root);
    json_decref(root);
    return status;
}
