/* Reading a table by the rows of a record. */
#include <string.h>

#include "sim/script/arguments.h"

const void *cs_value_records(const struct cs_value *value, const struct cs_record *record, const char *object,
                             size_t *n) {
    *n = cs_value_list(value);
    char *items = cs_script_new(value->L, *n, record->size);
    for (size_t i = 0; i < *n; i++) {
        struct cs_value item = cs_value_item(value, (lua_Integer)i + 1);
        void *structure = items + i * record->size;
        if (object)
            memcpy(structure, cs_value_object(&item, object), record->size);
        else
            cs_value_record(&item, record, structure);
        lua_pop(value->L, 1);
    }
    return items;
}

static void read_scalar(const struct cs_value *value, const struct cs_field *field, char *member, char *beside) {
    int64_t integer;
    double number;
    const char *text;
    switch (field->kind) {
    case CS_FIELD_INT:
        integer = cs_value_integer(value, field->least, field->most);
        memcpy(member, &(int){(int)integer}, sizeof(int));
        break;
    case CS_FIELD_INTEGER:
        integer = cs_value_integer(value, field->least, field->most);
        memcpy(member, &integer, sizeof integer);
        break;
    case CS_FIELD_NUMBER:
        number = cs_value_number(value);
        memcpy(member, &number, sizeof number);
        if (beside) memcpy(beside, &(bool){true}, sizeof(bool));
        break;
    case CS_FIELD_FLAG:
        memcpy(member, &(bool){cs_value_flag(value)}, sizeof(bool));
        break;
    case CS_FIELD_OBJECT:
        memcpy(member, cs_value_object(value, field->object), field->record->size);
        break;
    default:
        text = cs_value_text(value);
        memcpy(member, &text, sizeof text);
    }
}

static void read_field(const struct cs_value *value, const struct cs_field *field, void *structure) {
    char *member = (char *)structure + field->offset;
    char *beside = field->beside ? (char *)structure + field->beside : NULL;
    const void *items;
    size_t n;
    switch (field->kind) {
    case CS_FIELD_CUSTOM:
        field->read(value, structure);
        return;
    case CS_FIELD_TEXTS:
        items = cs_value_texts(value, &n);
        break;
    case CS_FIELD_NUMBERS:
        items = cs_value_numbers(value, &n);
        break;
    case CS_FIELD_OBJECTS:
    case CS_FIELD_RECORDS:
        items = cs_value_records(value, field->record, field->object, &n);
        break;
    default:
        read_scalar(value, field, member, beside);
        return;
    }
    memcpy(member, &items, sizeof items);
    memcpy(beside, &n, sizeof n);
}

static bool has_field(const struct cs_record *record, const char *key) {
    for (size_t i = 0; i < record->n_fields; i++)
        if (cs_text_equal(record->fields[i].name, key)) return true;
    return false;
}

/* Of several unknown keys the first one by name, since Lua's order changes from run to run. */
static void check_keys(const struct cs_value *table, const struct cs_record *record) {
    enum { MOST_FIELDS = 32 };
    size_t n;
    const char *const *keys = cs_value_keys(table, &n);
    for (size_t i = 0; i < n; i++) {
        if (has_field(record, keys[i])) continue;
        const char *names[MOST_FIELDS];
        for (size_t j = 0; j < record->n_fields && j < MOST_FIELDS; j++) names[j] = record->fields[j].name;
        cs_value_fail_key(table, keys[i], names, record->n_fields < MOST_FIELDS ? record->n_fields : MOST_FIELDS);
    }
}

static const char *describe(const struct cs_field *field) {
    switch (field->kind) {
    case CS_FIELD_TEXT:
        return "a string";
    case CS_FIELD_INT:
    case CS_FIELD_INTEGER:
        return "an integer";
    case CS_FIELD_NUMBER:
        return "a number";
    case CS_FIELD_FLAG:
        return "true or false";
    case CS_FIELD_OBJECT:
        return field->object;
    case CS_FIELD_CUSTOM:
        return field->expected;
    default:
        return "a list";
    }
}

void cs_value_record(const struct cs_value *value, const struct cs_record *record, void *structure) {
    check_keys(value, record);
    for (size_t i = 0; i < record->n_fields; i++) {
        const struct cs_field *field = &record->fields[i];
        struct cs_value item;
        if (cs_value_field(value, field->name, &item))
            read_field(&item, field, structure);
        else if (field->is_required)
            cs_value_fail(&item, "%s", describe(field));
        lua_pop(value->L, 1);
    }
    if (record->check) record->check(value, structure);
}
