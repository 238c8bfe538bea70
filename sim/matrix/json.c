/* The kill matrix for machines. schema 1: mutants, columns, cells as lists of channels (null: not run). */
#include <jansson.h>
#include <stdlib.h>

#include "sim/matrix/matrix.h"
#include "sim/report/report.h"

static void put(json_t *object, const char *key, json_t *value, int *failures) {
    *failures += json_object_set_new(object, key, value) != 0;
}
static void add(json_t *array, json_t *value, int *failures) { *failures += json_array_append_new(array, value) != 0; }

static json_t *text(const char *value) { return value ? json_string(value) : json_null(); }

static json_t *channels_of(uint32_t channels, int *failures) {
    json_t *list = json_array();
    for (size_t c = 0; c < cs_n_channels; c++)
        if (channels >> c & 1) add(list, json_string(cs_channels[c].name), failures);
    return list;
}

static json_t *cell(const struct cs_cell *cell, int *failures) {
    switch (cell->state) {
    case CS_CELL_KILLED:
        return channels_of(cell->channels, failures);
    case CS_CELL_SURVIVED:
        return json_array();
    case CS_CELL_ON_ALREADY:
    case CS_CELL_NOT_RUN:
        break;
    }
    return json_null();
}

static json_t *row_of(const struct cs_matrix *matrix, const struct cs_matrix_row *row, int *failures) {
    const struct cs_defect_row *defect = cs_defect_row(row->mutant);
    json_t *object = json_object(), *cells = json_array();
    put(object, "mutant", json_string(defect->name), failures);
    put(object, "class", json_string(defect->group), failures);
    put(object, "report", json_string(defect->report), failures);
    put(object, "channel", json_string(defect->channel), failures);
    put(object, "text", json_string(defect->text), failures);
    put(object, "proof", text(cs_defect_proof(row->mutant)), failures);
    put(object, "killed", json_boolean(row->n_kills > 0), failures);
    put(object, "runs", json_integer((json_int_t)row->n_runs), failures);
    put(object, "reason", text(row->reason), failures);
    put(object, "channels", channels_of(row->channels, failures), failures);
    for (size_t i = 0; i < matrix->n_columns; i++) add(cells, cell(&row->cells[i], failures), failures);
    put(object, "cells", cells, failures);
    return object;
}

static json_t *column_of(const struct cs_matrix_column *column, int *failures) {
    json_t *object = json_object();
    put(object, "scenario", json_string(column->scenario->name), failures);
    put(object, "file", json_string(column->scenario->file), failures);
    put(object, "policy", json_string(column->policy), failures);
    put(object, "clean", json_boolean(column->is_clean), failures);
    put(object, "reason", text(column->reason), failures);
    return object;
}

static json_t *report_of(const struct cs_matrix *matrix, int *failures) {
    json_t *report = json_object(), *columns = json_array(), *rows = json_array(), *problems = json_array();
    put(report, "schema", json_integer(1), failures);
    for (size_t i = 0; i < matrix->n_columns; i++) add(columns, column_of(&matrix->columns[i], failures), failures);
    for (size_t i = 0; i < matrix->n_rows; i++) add(rows, row_of(matrix, &matrix->rows[i], failures), failures);
    for (size_t i = 0; i < matrix->n_problems; i++) add(problems, json_string(matrix->problems[i]), failures);
    put(report, "columns", columns, failures);
    put(report, "mutants", rows, failures);
    put(report, "alone", channels_of(matrix->alone, failures), failures);
    put(report, "wrong", problems, failures);
    put(report, "seconds", json_real(matrix->seconds), failures);
    return report;
}

enum cs_status cs_matrix_json(const char *path, const struct cs_matrix *matrix) {
    int failures = 0;
    json_t *report = report_of(matrix, &failures);
    enum cs_status status = cs_write_json(path, failures ? NULL : report, JSON_INDENT(1));
    json_decref(report);
    return status;
}
