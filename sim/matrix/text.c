#include "sim/matrix/matrix.h"

static void print_channels(FILE *out, uint32_t channels) {
    bool is_first = true;
    for (size_t c = 0; c < cs_n_channels; c++) {
        if (!(channels >> c & 1)) continue;
        fprintf(out, "%s%s", is_first ? "" : " ", cs_channels[c].name);
        is_first = false;
    }
}

static void print_row(FILE *out, const struct cs_matrix *matrix, const struct cs_matrix_row *row) {
    const struct cs_defect_row *defect = cs_defect_row(row->mutant);
    const char *proof = cs_defect_proof(row->mutant);
    if (!row->n_kills) {
        fprintf(out, "%-10s %-28s %-3s %s\n", proof ? "equivalent" : "SURVIVED", defect->name, defect->group,
                proof ? proof : defect->text);
        return;
    }
    const struct cs_matrix_column *first = &matrix->columns[row->first];
    fprintf(out, "%-10s %-28s %-3s %zu of %zu, first %s (%s), seen by ", "killed", defect->name, defect->group,
            row->n_kills, row->n_runs, first->scenario->name, first->policy);
    print_channels(out, row->channels);
    fputc('\n', out);
}

void cs_matrix_text(FILE *out, const struct cs_matrix *matrix) {
    size_t n_killed = 0, n_equivalent = 0, n_runs = 0, n_alone = 0;
    for (size_t i = 0; i < matrix->n_rows; i++) {
        print_row(out, matrix, &matrix->rows[i]);
        n_killed += matrix->rows[i].n_kills > 0;
        n_equivalent += !matrix->rows[i].n_kills && cs_defect_proof(matrix->rows[i].mutant);
        n_runs += matrix->rows[i].n_runs;
    }
    for (size_t c = 0; c < cs_n_channels; c++) n_alone += matrix->alone >> c & 1;
    for (size_t i = 0; i < matrix->n_problems; i++) fprintf(out, "wrong: %s\n", matrix->problems[i]);
    fprintf(out, "%zu of %zu channels are the only one that sees some mutant\n", n_alone, cs_n_channels);
    fprintf(out, "%zu of %zu mutants killed, %zu equivalent, %zu scenarios and policies, %zu runs, %zu wrong\n",
            n_killed, matrix->n_rows, n_equivalent, matrix->n_columns, n_runs, matrix->n_problems);
}
