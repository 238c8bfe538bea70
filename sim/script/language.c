#include "sim/script/language.h"

#include <string.h>

/* ---- records ---- */

static size_t add_record(const struct cs_record **records, size_t n, size_t most, const struct cs_record *record) {
    for (size_t i = 0; i < n; i++)
        if (records[i] == record) return n;
    for (size_t i = 0; i < record->n_fields; i++) {
        const struct cs_field *field = &record->fields[i];
        bool has_tables = field->kind == CS_FIELD_RECORDS || field->kind == CS_FIELD_CUSTOM;
        if (has_tables && field->record) n = add_record(records, n, most, field->record);
    }
    if (n < most) records[n++] = record;
    return n;
}

size_t cs_language_records(const struct cs_record **records, size_t most) {
    size_t n = 0;
    for (size_t i = 0; i < cs_n_bindings; i++)
        if (cs_bindings[i].record) n = add_record(records, n, most, cs_bindings[i].record);
    return n;
}

bool cs_record_is_expected(const struct cs_record *record) { return record == &cs_record_expected; }

/* ---- fields ---- */

const char *cs_field_type(const struct cs_field *field, char *buffer, size_t size) {
    static const char *const names[] = {
        [CS_FIELD_TEXT] = "string",      [CS_FIELD_INT] = "integer",  [CS_FIELD_INTEGER] = "integer",
        [CS_FIELD_NUMBER] = "number",    [CS_FIELD_FLAG] = "boolean", [CS_FIELD_TEXTS] = "string[]",
        [CS_FIELD_NUMBERS] = "number[]",
    };
    if (field->type) return field->type;
    switch (field->kind) {
    case CS_FIELD_OBJECT:
        return cs_object_class(field->object);
    case CS_FIELD_OBJECTS:
        snprintf(buffer, size, "%s[]", cs_object_class(field->object));
        return buffer;
    case CS_FIELD_RECORDS:
        snprintf(buffer, size, "%s[]", field->record->name);
        return buffer;
    default:
        return names[field->kind];
    }
}

const char *cs_field_range(const struct cs_field *field, char *buffer, size_t size) {
    bool is_integer = field->kind == CS_FIELD_INT || field->kind == CS_FIELD_INTEGER;
    *buffer = 0;
    if (is_integer && field->most < INT64_MAX)
        snprintf(buffer, size, "%" PRId64 " to %" PRId64, field->least, field->most);
    return buffer;
}

/* ---- functions ---- */

const char *cs_binding_param(const struct cs_binding *binding, size_t index, const char **name) {
    bool has_params = binding->params[0].name;
    if (!has_params && binding->record && index == 0) {
        *name = "fields";
        return binding->record->name;
    }
    if (!has_params || index >= CS_COUNT(binding->params) || !binding->params[index].name) return NULL;
    *name = binding->params[index].name;
    return binding->params[index].type;
}

const char *cs_binding_signature(const struct cs_binding *binding, char *buffer, size_t size) {
    const char *name;
    if (binding->record && !binding->params[0].name) {
        snprintf(buffer, size, "%s { … }", binding->name);
        return buffer;
    }
    size_t used = (size_t)snprintf(buffer, size, "%s(", binding->name);
    for (size_t i = 0; used < size && cs_binding_param(binding, i, &name); i++) {
        size_t length = strlen(name);
        bool is_optional = name[length - 1] == '?', is_rest = cs_text_equal(name, "...");
        const char *comma = i ? ", " : "";
        if (is_optional)
            used +=
                (size_t)snprintf(buffer + used, size - used, "%s[%s%.*s]", i ? " " : "", comma, (int)length - 1, name);
        else
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", comma, is_rest ? "…" : name);
    }
    if (used < size) snprintf(buffer + used, size - used, ")");
    return buffer;
}

const struct cs_family cs_families[] = {
    {"cs.Checkpoint", "Checkpoint"},
    {"cs.Expectation", "Expectation"},
    {"cs.Step", "Post-load step"},
};
const size_t cs_n_families = CS_COUNT(cs_families);

const struct cs_family *cs_binding_family(const struct cs_binding *binding) {
    for (size_t i = 0; i < cs_n_families; i++)
        if (binding->returns && cs_text_equal(binding->returns, cs_families[i].returns)) return &cs_families[i];
    return NULL;
}

void cs_binding_print_text(FILE *out, const struct cs_binding *binding) {
    const struct cs_family *family = cs_binding_family(binding);
    if (family) fprintf(out, "%s: ", family->name);
    fputs(binding->text, out);
}
