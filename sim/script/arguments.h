/* Checked reading of what a script passes. Every error is "file:line: function.path.to.argument: found X, expected Y".
 *
 * A record describes the fields of a table as rows; reading it refuses unknown keys, missing keys, wrong types, NaN,
 * infinities, fractions where integers belong and numbers out of range. Strings are never read as numbers. */
#ifndef CS_SCRIPT_ARGUMENTS_H
#define CS_SCRIPT_ARGUMENTS_H

#include "sim/script/internal.h"

/* A value on the Lua stack, and where the user finds it. */
struct cs_value {
    lua_State *L;
    int at;                       /* stack index, absolute */
    const struct cs_value *owner; /* the table that it is in; NULL: an argument of a function */
    const char *name;             /* key, or function */
    lua_Integer position;         /* in a list, from 1; 0: it has a name */
    int n_skipped;                /* Lua functions between the culprit and the function that found it */
};

enum cs_field_kind {
    CS_FIELD_TEXT,    /* const char * */
    CS_FIELD_INT,     /* int */
    CS_FIELD_INTEGER, /* int64_t or uint64_t */
    CS_FIELD_NUMBER,  /* double */
    CS_FIELD_FLAG,    /* bool */
    CS_FIELD_TEXTS,   /* const char *const *, and a count */
    CS_FIELD_NUMBERS, /* const double *, and a count */
    CS_FIELD_OBJECT,  /* the description itself */
    CS_FIELD_OBJECTS, /* const description *, and a count */
    CS_FIELD_RECORDS, /* const structure *, and a count */
    CS_FIELD_CUSTOM,  /* `read` gets the whole structure */
};

typedef void cs_reader(const struct cs_value *value, void *structure);

struct cs_field {
    const char *name;
    enum cs_field_kind kind;
    bool is_required;
    size_t offset;
    size_t beside; /* offset of the list's count, or of a `bool` that says that a number is there; 0: none */
    int64_t least, most;
    const char *object; /* kind of object */
    const struct cs_record
        *record; /* of OBJECT, OBJECTS, RECORDS; CUSTOM: of the tables in it, for the reference alone */
    cs_reader *read;
    const char *expected; /* in the error of a missing CUSTOM field */
    /* For the reference and for editors: */
    const char *type;     /* as the Lua language server writes it; NULL: what the kind says */
    const char *text;     /* what it means; a line of Markdown */
    const char *standard; /* its default, likewise; NULL: the value is just not there */
};

struct cs_record {
    const char *name; /* of its class in editors */
    const struct cs_field *fields;
    size_t n_fields, size;
    cs_reader *check; /* after all fields, or NULL */
};

/* Raises the error. The text after "found X, expected " is printf-style. */
_Noreturn void cs_value_fail(const struct cs_value *value, const char *expected, ...)
    __attribute__((format(printf, 2, 3)));
/* Raises "path: text". */
_Noreturn void cs_value_refuse(const struct cs_value *value, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Raises "path: found "word", expected …": the nearest of the names, or all of them. */
_Noreturn void cs_value_fail_word(const struct cs_value *value, const char *word, const char *const *names, size_t n);
/* Raises the error of a key that the table does not have. */
_Noreturn void cs_value_fail_key(const struct cs_value *table, const char *key, const char *const *names, size_t n);

/* The function's argument `index`, which errors call `name`: "cs.toy", "cs.cast.dtype". */
struct cs_value cs_value_argument(lua_State *L, int index, const char *name);
/* Raises an error when the function was given more than `n` arguments. */
void cs_value_last_argument(lua_State *L, int n, const char *function);
/* Pushes a field; false when it is nil. */
bool cs_value_field(const struct cs_value *table, const char *key, struct cs_value *field);
/* Pushes an item of a list, from 1. */
struct cs_value cs_value_item(const struct cs_value *list, lua_Integer position);

bool cs_value_is(const struct cs_value *value, int lua_type);
void cs_value_table(const struct cs_value *value);                         /* a table without metatable */
size_t cs_value_list(const struct cs_value *value);                        /* a table of items only; their number */
const char *const *cs_value_keys(const struct cs_value *value, size_t *n); /* of a table of names, sorted */
const char *cs_value_text(const struct cs_value *value);                   /* copied into the arena */
int64_t cs_value_integer(const struct cs_value *value, int64_t least, int64_t most);
double cs_value_number(const struct cs_value *value); /* finite */
bool cs_value_flag(const struct cs_value *value);
const void *cs_value_object(const struct cs_value *value, const char *kind);
const char *const *cs_value_texts(const struct cs_value *value, size_t *n);
const double *cs_value_numbers(const struct cs_value *value, size_t *n);
/* Index of the value among `names`. */
size_t cs_value_word(const struct cs_value *value, const char *const *names, size_t n);
enum cs_dtype cs_value_dtype(const struct cs_value *value);
/* Extents: one number, or a list of 1 … CS_NDIM of them. */
struct cs_extents {
    int ndim;
    int64_t items[CS_NDIM];
};
void cs_value_extents(const struct cs_value *value, struct cs_extents *extents);
/* A shape in the words of methods, "E 2*I H", of at least so many extents. */
const char *cs_value_shape(const struct cs_value *value, size_t least);
/* A list of records, or of objects when `object` is their kind. */
const void *cs_value_records(const struct cs_value *value, const struct cs_record *record, const char *object,
                             size_t *n);

void cs_value_record(const struct cs_value *value, const struct cs_record *record, void *structure);

#endif
