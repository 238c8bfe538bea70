/* Annotations for the Lua language server (LuaCATS), so that an editor completes keys and names, and shows their texts.
 */
#include <stdio.h>
#include <string.h>

#include "sim/script/language.h"

enum { MOST_RECORDS = 64 };

/* ---- names of registries ---- */

static const char *policy_name(size_t i) { return i < cs_n_policies ? cs_policies[i].name : NULL; }
static const char *method_name(size_t i) { return i < cs_n_methods ? cs_methods[i]->name : NULL; }
static const char *backend_name(size_t i) { return i < cs_n_backends ? cs_backends[i].name : NULL; }
static const char *layout_name(size_t i) { return i < cs_n_layouts ? cs_layouts[i].name : NULL; }
static const char *loader_name(size_t i) { return i < cs_n_loaders ? cs_loaders[i]->name : NULL; }
static const char *table_name(size_t i) { return i < cs_n_step_tables ? cs_step_tables[i]->name : NULL; }
static const char *driver_name(size_t i) { return i < cs_n_drivers ? cs_drivers[i]->name : NULL; }
static const char *defect_name(size_t i) { return i < CS_N_DEFECTS ? cs_defect_name((enum cs_defect)i) : NULL; }
static const char *dtype_name(size_t i) { return i < CS_N_DTYPES ? cs_dtype_name((enum cs_dtype)i) : NULL; }

static bool is_start(size_t i) { return cs_drivers[i]->is_start; }
static bool is_reload(size_t i) { return !cs_drivers[i]->is_start; }
/* Methods share names of back ends. */
static bool is_new_backend(size_t i) {
    for (size_t j = 0; j < i; j++)
        if (cs_text_equal(cs_backends[j].name, cs_backends[i].name)) return false;
    return true;
}

static const struct {
    const char *alias;
    const char *(*name)(size_t i); /* NULL behind the last */
    bool (*is_wanted)(size_t i);   /* NULL: all are */
} aliases[] = {
    {"cs.Backend", backend_name, is_new_backend},
    {"cs.Defect", defect_name, NULL},
    {"cs.Dtype", dtype_name, NULL},
    {"cs.Layout", layout_name, NULL},
    {"cs.Loader", loader_name, NULL},
    {"cs.Method", method_name, NULL},
    {"cs.Policy", policy_name, NULL},
    {"cs.ReloadDriver", driver_name, is_reload},
    {"cs.StartDriver", driver_name, is_start},
    {"cs.Table", table_name, NULL},
};

static void print_aliases(FILE *out) {
    for (size_t i = 0; i < CS_COUNT(aliases); i++) {
        const char *name, *bar = "";
        fprintf(out, "---@alias %s ", aliases[i].alias);
        for (size_t j = 0; (name = aliases[i].name(j)); j++) {
            if (aliases[i].is_wanted && !aliases[i].is_wanted(j)) continue;
            fprintf(out, "%s\"%s\"", bar, name);
            bar = "|";
        }
        fputc('\n', out);
    }
    fputc('\n', out);
}

/* ---- classes ---- */

static void print_field(FILE *out, const struct cs_field *field) {
    char type[CS_LANGUAGE_TEXT], range[CS_LANGUAGE_TEXT];
    fprintf(out, "---@field %s%s %s %s", field->name, field->is_required ? "" : "?",
            cs_field_type(field, type, sizeof type), field->text);
    if (*cs_field_range(field, range, sizeof range)) fprintf(out, " (%s)", range);
    if (field->standard) fprintf(out, "; default: %s", field->standard);
    fputc('\n', out);
}

static void print_record(FILE *out, const struct cs_record *record) {
    fprintf(out, "---@class %s\n", record->name);
    for (size_t i = 0; cs_record_is_expected(record) && i < CS_N_COUNTS; i++)
        fprintf(out, "---@field %s? integer %s\n", cs_count_names[i], cs_count_texts[i]);
    for (size_t i = 0; i < record->n_fields; i++) print_field(out, &record->fields[i]);
    for (size_t i = 0; cs_record_is_expected(record) && i < cs_n_policies; i++)
        fprintf(out, "---@field %s? cs.Expectation|cs.Expected under this policy, instead of counts\n",
                cs_policies[i].name);
    fputc('\n', out);
}

/* What functions return: nothing is in it that a script could see. */
static void print_objects(FILE *out) {
    for (size_t i = 0; i < cs_n_bindings; i++) {
        const char *returns = cs_bindings[i].returns;
        bool is_new = returns && strncmp(returns, "cs.", 3) == 0;
        for (size_t j = 0; is_new && j < i; j++)
            is_new = !(cs_bindings[j].returns && cs_text_equal(cs_bindings[j].returns, returns));
        if (is_new) fprintf(out, "---@class %s\n\n", returns);
    }
}

/* ---- functions ---- */

static void print_function(FILE *out, const struct cs_binding *binding) {
    const char *name, *type;
    fputs("---", out);
    cs_binding_print_text(out, binding);
    fputc('\n', out);
    for (size_t i = 0; (type = cs_binding_param(binding, i, &name)); i++) fprintf(out, "---@param %s %s\n", name, type);
    if (binding->returns) fprintf(out, "---@return %s\n", binding->returns);
    fprintf(out, "function %s(", binding->name);
    for (size_t i = 0; cs_binding_param(binding, i, &name); i++)
        fprintf(out, "%s%.*s", i ? ", " : "", (int)strcspn(name, "?"), name);
    fputs(") end\n\n", out);
}

static void print_functions(FILE *out, const char *prefix) {
    for (size_t i = 0; i < cs_n_bindings; i++)
        if (strncmp(cs_bindings[i].name, prefix, strlen(prefix)) == 0) print_function(out, &cs_bindings[i]);
}

void cs_language_stubs(FILE *out) {
    const struct cs_record *records[MOST_RECORDS];
    size_t n = cs_language_records(records, MOST_RECORDS);
    fputs("---@meta\n-- Made by \"coldstart help lua --stubs\": editors read it, coldstart does not.\n\n", out);
    print_aliases(out);
    print_objects(out);
    for (size_t i = 0; i < n; i++) print_record(out, records[i]);
    fputs("cs = {}\n\n", out);
    print_functions(out, "cs.");
    fputs("---The server of `run`.\n---@class cs.Server\nlocal s = {}\n\n", out);
    print_functions(out, "s:");
}
