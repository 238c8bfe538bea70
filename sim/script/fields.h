/* Rows of records, one a field: name, member, then the text for the reference, in Markdown. `S` is the structure that
 * is filled. The reference page and the stubs for editors are made of these rows: language.c. */
#ifndef CS_SCRIPT_FIELDS_H
#define CS_SCRIPT_FIELDS_H

#include "sim/script/arguments.h"

/* clang-format off */
#define CS_ROW(name_, kind_, offset_, text_)                                                                           \
    .name = (name_), .kind = CS_FIELD_##kind_, .offset = (offset_), .text = (text_)
/* clang-format on */
#define CS_REQUIRED                        .is_required = true
#define CS_REQUIRED_AS(expected_)          .is_required = true, .expected = (expected_)
#define CS_DEFAULT(text)                   .standard = (text)
#define CS_TYPE(text)                      .type = (text)
#define CS_TABLES_OF(record_)              .record = (record_)
#define CS_TEXT_ROW(name, S, member, text) CS_ROW(name, TEXT, offsetof(S, member), text)
#define CS_FLAG_ROW(name, S, member, text) CS_ROW(name, FLAG, offsetof(S, member), text)
/* clang-format off */
#define CS_INTEGER_ROW(name, S, member, least_, most_, text)                                                           \
    CS_ROW(name, INTEGER, offsetof(S, member), text), .least = (least_), .most = (most_)
#define CS_INT_ROW(name, S, member, least_, most_, text)                                                               \
    CS_ROW(name, INT, offsetof(S, member), text), .least = (least_), .most = (most_)
/* clang-format on */
/* `flag` becomes true when the number is there. */
/* clang-format off */
#define CS_NUMBER_ROW(name, S, member, flag, text)                                                                     \
    CS_ROW(name, NUMBER, offsetof(S, member), text), .beside = offsetof(S, flag)
#define CS_TEXTS_ROW(name, S, member, count, text)                                                                     \
    CS_ROW(name, TEXTS, offsetof(S, member), text), .beside = offsetof(S, count)
#define CS_NUMBERS_ROW(name, S, member, count, text)                                                                   \
    CS_ROW(name, NUMBERS, offsetof(S, member), text), .beside = offsetof(S, count)
#define CS_RECORDS_ROW(name, S, member, count, record_, text)                                                          \
    CS_ROW(name, RECORDS, offsetof(S, member), text), .beside = offsetof(S, count), .record = (record_)
#define CS_OBJECT_ROW(name, S, member, kind_of_object, record_, text)                                                  \
    CS_ROW(name, OBJECT, offsetof(S, member), text), .object = (kind_of_object), .record = (record_)
#define CS_OBJECTS_ROW(name, S, member, count, kind_of_object, record_, text)                                          \
    CS_ROW(name, OBJECTS, offsetof(S, member), text), .beside = offsetof(S, count), .object = (kind_of_object),        \
                                                      .record = (record_)
/* clang-format on */
#define CS_CUSTOM_ROW(name, reader, type_, text) CS_ROW(name, CUSTOM, 0, text), .read = (reader), .type = (type_)

/* clang-format off */
#define CS_RECORD(name_, fields_, S, check_)                                                                           \
    { .name = (name_), .fields = (fields_), .n_fields = CS_COUNT(fields_), .size = sizeof(S), .check = (check_) }
/* clang-format on */

/* Rows that tensors of models and parameters of toys share. */
/* clang-format off */
#define CS_TENSOR_ROWS                                                                                                 \
    {CS_TEXT_ROW("name", struct cs_template_tensor, name, "within the module"), CS_REQUIRED},                          \
        {CS_CUSTOM_ROW("dtype", cs_read_dtype, "cs.Dtype",                                                             \
                       "`\"bf16\"`, `\"f32\"`, `\"e4m3\"` …; names of torch and safetensors do as well"),              \
         CS_REQUIRED_AS("a dtype such as \"bf16\"")},                                                                  \
        {CS_CUSTOM_ROW("created", cs_read_created, "\"empty\"|\"zeros\"|\"ones\"|\"value\"|\"arange\"|\"meta\"",       \
                       "what `create_weights` writes"),                                                                \
         CS_DEFAULT("`\"empty\"`")},                                                                                   \
        {CS_ROW("value", NUMBER, offsetof(struct cs_template_tensor, init_value),                                      \
                "what `created = \"value\"` writes")},                                                                 \
        {CS_FLAG_ROW("late", struct cs_template_tensor, is_late,                                                       \
                     "`true`: the model registers it while it loads, when the module's first tensor comes; who began a " \
                     "reload before has not seen it"),                                                                 \
         CS_DEFAULT("`false`")},                                                                                       \
    {                                                                                                                  \
        CS_NUMBER_ROW("padding_value", struct cs_template_tensor, padding_value, has_padding_value,                    \
                      "what padding must hold"),                                                                       \
            CS_DEFAULT("1 if created as ones of a floating dtype, else 0")                                             \
    }
/* clang-format on */

void cs_read_dtype(const struct cs_value *value, void *structure);
void cs_read_created(const struct cs_value *value, void *structure);
/* That there is a value if and only if created = "value". */
void cs_check_tensor(const struct cs_value *value, void *structure);

#endif
