/* The tables of the reference page, and the same on a terminal. */
#include <stdio.h>
#include <string.h>

#include "sim/script/language.h"

enum { MOST_RECORDS = 64 };

/* ---- Markdown ---- */

/* A code span in a cell: bars would end the cell. */
static void print_code(FILE *out, const char *text) {
    fputc('`', out);
    for (; *text; text++) {
        if (*text == '|') fputc('\\', out);
        fputc(*text, out);
    }
    fputc('`', out);
}

/* What the reader may rely on: the page's prose is written around these names. */
static void begin_section(FILE *out, const char *name) { fprintf(out, "<!-- %s -->\n", name); }
static void end_section(FILE *out) { fputs("<!-- end -->\n\n", out); }

static void print_field(FILE *out, const struct cs_field *field) {
    char type[CS_LANGUAGE_TEXT], range[CS_LANGUAGE_TEXT];
    fputs("| ", out);
    print_code(out, field->name);
    fputs(" | ", out);
    print_code(out, cs_field_type(field, type, sizeof type));
    if (*cs_field_range(field, range, sizeof range)) fprintf(out, " %s", range);
    fprintf(out, " | %s |", field->text);
    if (field->is_required)
        fputs(" required", out);
    else if (field->standard)
        fprintf(out, " %s", field->standard);
    fputs(" |\n", out);
}

static void print_record(FILE *out, const struct cs_record *record) {
    begin_section(out, record->name);
    fputs("| key | type | value | default |\n|---|---|---|---|\n", out);
    for (size_t i = 0; i < record->n_fields; i++) print_field(out, &record->fields[i]);
    end_section(out);
}

static void print_counts(FILE *out) {
    begin_section(out, "counts");
    fputs("| count | counts | in `cs.equal()` |\n|---|---|---|\n", out);
    for (enum cs_count i = 0; i < CS_N_COUNTS; i++) {
        const char *equal = cs_count_is_channel(i) ? "0" : i == CS_COUNT_params_lucky ? "0, else mistrusted" : "any";
        fprintf(out, "| `%s` | %s | %s |\n", cs_count_names[i], cs_count_texts[i], equal);
    }
    end_section(out);
}

static void print_function(FILE *out, const struct cs_binding *binding) {
    char signature[CS_LANGUAGE_TEXT];
    fprintf(out, "| `%s` | %s |\n", cs_binding_signature(binding, signature, sizeof signature), binding->text);
}

/* Families of functions have tables of their own; the others share one: NULL. */
static void print_functions(FILE *out, const struct cs_family *family) {
    begin_section(out, family ? family->returns : "functions");
    fputs("| function | what it is |\n|---|---|\n", out);
    for (size_t i = 0; i < cs_n_bindings; i++)
        if (cs_binding_family(&cs_bindings[i]) == family) print_function(out, &cs_bindings[i]);
    end_section(out);
}

void cs_language_reference(FILE *out) {
    const struct cs_record *records[MOST_RECORDS];
    size_t n = cs_language_records(records, MOST_RECORDS);
    print_functions(out, NULL);
    for (size_t i = 0; i < cs_n_families; i++) print_functions(out, &cs_families[i]);
    print_counts(out);
    for (size_t i = 0; i < n; i++) print_record(out, records[i]);
}

/* ---- terminals ---- */

static void help_field(FILE *out, const struct cs_field *field, int depth);

static void help_record(FILE *out, const struct cs_record *record, int depth) {
    if (depth == 0 && cs_record_is_expected(record))
        for (size_t i = 0; i < CS_N_COUNTS; i++)
            fprintf(out, "  %s: integer\n      %s\n", cs_count_names[i], cs_count_texts[i]);
    for (size_t i = 0; i < record->n_fields; i++) help_field(out, &record->fields[i], depth);
}

static void help_field(FILE *out, const struct cs_field *field, int depth) {
    char type[CS_LANGUAGE_TEXT], range[CS_LANGUAGE_TEXT];
    int indent = 2 + 4 * depth;
    fprintf(out, "%*s%s: %s", indent, "", field->name, cs_field_type(field, type, sizeof type));
    if (*cs_field_range(field, range, sizeof range)) fprintf(out, " %s", range);
    fprintf(out, "%s\n", field->is_required ? ", required" : "");
    fprintf(out, "%*s%s", indent + 4, "", field->text);
    if (field->standard) fprintf(out, "; default: %s", field->standard);
    fputc('\n', out);
    bool has_tables = field->kind == CS_FIELD_RECORDS || field->kind == CS_FIELD_CUSTOM;
    if (has_tables && field->record) help_record(out, field->record, depth + 1);
}

static void help_functions(FILE *out) {
    char signature[CS_LANGUAGE_TEXT];
    for (size_t i = 0; i < cs_n_bindings; i++) {
        fprintf(out, "%s\n    ", cs_binding_signature(&cs_bindings[i], signature, sizeof signature));
        cs_binding_print_text(out, &cs_bindings[i]);
        fputc('\n', out);
    }
}

static enum cs_status unknown_function(const char *function) {
    const char *names[64];
    size_t n = 0;
    for (; n < cs_n_bindings && n < CS_COUNT(names); n++) names[n] = cs_bindings[n].name;
    const char *nearest = cs_text_nearest(function, names, n);
    CS_REQUIRE(nearest, CS_BAD_USAGE, "unknown function \"%s\": \"coldstart help lua\" lists them", function);
    return cs_fail(CS_BAD_USAGE, "unknown function \"%s\": did you mean \"%s\"?", function, nearest);
}

enum cs_status cs_language_help(FILE *out, const char *function) {
    char signature[CS_LANGUAGE_TEXT];
    const struct cs_binding *binding = NULL;
    for (size_t i = 0; function && i < cs_n_bindings; i++)
        if (cs_text_equal(cs_bindings[i].name, function)) binding = &cs_bindings[i];
    if (function && !binding) return unknown_function(function);
    if (!function) {
        help_functions(out);
        return CS_OK;
    }
    fprintf(out, "%s", cs_binding_signature(binding, signature, sizeof signature));
    if (binding->returns) fprintf(out, " → %s", binding->returns);
    fputs("\n    ", out);
    cs_binding_print_text(out, binding);
    fputc('\n', out);
    if (binding->record) fputc('\n', out);
    if (binding->record) help_record(out, binding->record, 0);
    return CS_OK;
}
