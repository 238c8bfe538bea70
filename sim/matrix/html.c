/* The kill matrix as one page that needs nothing beside itself: mutants down, scenarios across, a cell's colour and
 * title say who saw what. */
#include <stdlib.h>

#include "sim/matrix/matrix.h"
#include "sim/report/report.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>kill matrix</title>\n<style>\n"
    "body{font:14px/1.4 system-ui,sans-serif;margin:2em}table{border-collapse:collapse}\n"
    "td,th{padding:1px 6px;text-align:left;vertical-align:top}\n"
    "table.matrix td.c{width:9px;min-width:9px;height:16px;padding:0;border:1px solid #fff}\n"
    "td.k{background:#2a7}td.a{background:#06c}td.s{background:#ddd}td.n{background:#f6f6f6}td.o{background:#fd8}\n"
    ".bad{color:#b00;font-weight:bold}code{font-size:12px}th.v{writing-mode:vertical-rl;font-weight:normal;padding:0;"
    "font-size:9px;max-height:22em}\n"
    "</style>\n<h1>Kill matrix</h1>\n"
    "<p><span style=\"color:#06c\">blue</span>: one channel alone saw the mutant; <span "
    "style=\"color:#2a7\">green</span>: "
    "several did; grey: it survived this scenario; yellow: the scenario has it on already; pale: not run. Titles name "
    "the "
    "scenario and the channels.</p>\n";

static void put_text(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            fputc(*text, out);
    }
}

static void put_cell_text(FILE *out, const char *text) {
    fputs("<td>", out);
    put_text(out, text);
    fputs("</td>", out);
}

static void put_channels(FILE *out, uint32_t channels) {
    for (size_t c = 0; c < cs_n_channels; c++)
        if (channels >> c & 1) fprintf(out, " %s", cs_channels[c].name);
}

static char class_of(const struct cs_cell *cell) {
    bool is_alone = !(cell->channels & (cell->channels - 1));
    switch (cell->state) {
    case CS_CELL_KILLED:
        return is_alone ? 'a' : 'k';
    case CS_CELL_SURVIVED:
        return 's';
    case CS_CELL_ON_ALREADY:
        return 'o';
    case CS_CELL_NOT_RUN:
        break;
    }
    return 'n';
}

static void put_row(FILE *out, const struct cs_matrix *matrix, const struct cs_matrix_row *row) {
    const struct cs_defect_row *defect = cs_defect_row(row->mutant);
    const char *proof = cs_defect_proof(row->mutant);
    bool is_bad = !row->n_kills && !proof;
    fprintf(out, "<tr><td%s><code title=\"", is_bad ? " class=\"bad\"" : "");
    put_text(out, proof ? proof : defect->text);
    fprintf(out, "\">%s</code></td>", defect->name);
    put_cell_text(out, defect->group);
    put_cell_text(out, defect->report);
    fprintf(out, "<td>%zu/%zu%s</td>", row->n_kills, row->n_runs, proof ? " equivalent" : "");
    for (size_t i = 0; i < matrix->n_columns; i++) {
        fprintf(out, "<td class=\"c %c\" title=\"%s, %s:", class_of(&row->cells[i]), matrix->columns[i].scenario->name,
                matrix->columns[i].policy);
        put_channels(out, row->cells[i].channels);
        fputs("\"></td>", out);
    }
    fputs("</tr>\n", out);
}

static void put_channel_table(FILE *out, const struct cs_matrix *matrix) {
    fputs("<h2>Channels</h2>\n<table><tr><th>channel</th><th>what it compares</th><th>alone</th></tr>\n", out);
    for (size_t c = 0; c < cs_n_channels; c++) {
        bool is_alone = matrix->alone >> c & 1;
        fprintf(out, "<tr><td><code>%s</code></td>", cs_channels[c].name);
        put_cell_text(out, cs_channels[c].text);
        fprintf(out, "<td%s>%s</td></tr>\n", is_alone ? "" : " class=\"bad\"", is_alone ? "yes" : "never");
    }
    fputs("</table>\n", out);
}

static enum cs_status put_page(FILE *out, const void *what) {
    const struct cs_matrix *matrix = what;
    fputs(head, out);
    fprintf(out, "<p%s>%zu mutants, %zu scenarios and policies, %zu wrong.</p>\n<ul class=\"bad\">\n",
            matrix->n_problems ? " class=\"bad\"" : "", matrix->n_rows, matrix->n_columns, matrix->n_problems);
    for (size_t i = 0; i < matrix->n_problems; i++) {
        fputs("<li>", out);
        put_text(out, matrix->problems[i]);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n<table class=\"matrix\"><tr><th>mutant</th><th>class</th><th>report</th><th>kills</th>", out);
    for (size_t i = 0; i < matrix->n_columns; i++)
        fprintf(out, "<th class=\"v\">%s %s</th>", matrix->columns[i].scenario->name, matrix->columns[i].policy);
    fputs("</tr>\n", out);
    for (size_t i = 0; i < matrix->n_rows; i++) put_row(out, matrix, &matrix->rows[i]);
    fputs("</table>\n", out);
    put_channel_table(out, matrix);
    fputs("</html>", out);
    return CS_OK;
}

enum cs_status cs_matrix_html(const char *path, const struct cs_matrix *matrix) {
    return cs_write_with(path, put_page, matrix);
}
