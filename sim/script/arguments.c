/* Checked reading of arguments: values and errors here, records in records.c. */
#include "sim/script/arguments.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

enum { LONGEST_QUOTE = 60 };

/* A string as it could stand in a script, cut and on one line. */
static void add_quoted(luaL_Buffer *b, const char *text, size_t length) {
    luaL_addchar(b, '"');
    size_t i = 0;
    for (; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (i >= LONGEST_QUOTE && (c & 0xC0) != 0x80) break; /* not inside a UTF-8 character */
        char escaped[8] = {(char)c};
        if (c < 0x20 || c == 0x7F) snprintf(escaped, sizeof escaped, "\\%03d", c);
        if (c == '"') snprintf(escaped, sizeof escaped, "\\\"");
        luaL_addstring(b, escaped);
    }
    luaL_addstring(b, i < length ? "…\"" : "\"");
}

static const char *article_and_type(lua_State *L, int at) {
    static const char *const names[LUA_NUMTYPES] = {
        [LUA_TNIL] = "nothing",     [LUA_TTABLE] = "a table",      [LUA_TFUNCTION] = "a function",
        [LUA_TTHREAD] = "a thread", [LUA_TUSERDATA] = "an object", [LUA_TLIGHTUSERDATA] = "an object",
    };
    const char *kind = cs_object_kind(L, at);
    int type = lua_type(L, at);
    return kind ? kind : type == LUA_TNONE ? "nothing" : names[type];
}

/* Pushes what was found: numbers and strings as they are, other things by their kind. */
static void push_found(const struct cs_value *value) {
    lua_State *L = value->L;
    luaL_Buffer b;
    size_t length;
    switch (lua_type(L, value->at)) {
    case LUA_TBOOLEAN:
        lua_pushstring(L, lua_toboolean(L, value->at) ? "true" : "false");
        break;
    case LUA_TSTRING:
        luaL_buffinit(L, &b);
        const char *text = lua_tolstring(L, value->at, &length);
        add_quoted(&b, text, length);
        luaL_pushresult(&b);
        break;
    case LUA_TNUMBER:
        if (isnan(lua_tonumber(L, value->at))) {
            lua_pushliteral(L, "nan"); /* its sign depends on the machine */
        } else {
            lua_pushvalue(L, value->at); /* a copy: tolstring converts in place */
            luaL_tolstring(L, -1, NULL);
            lua_remove(L, -2);
        }
        break;
    default:
        lua_pushstring(L, article_and_type(L, value->at));
    }
}

static void push_path(const struct cs_value *value) {
    lua_State *L = value->L;
    luaL_checkstack(L, 10, NULL);
    if (!value->owner) {
        lua_pushstring(L, value->name);
        return;
    }
    push_path(value->owner);
    if (value->position)
        lua_pushfstring(L, "[%I]", (LUAI_UACINT)value->position);
    else if (*value->name == '[')
        lua_pushstring(L, value->name);
    else
        lua_pushfstring(L, ".%s", value->name);
    lua_concat(L, 2);
}

static void push_place_and_path(const struct cs_value *value) {
    const struct cs_value *root = value;
    while (root->owner) root = root->owner;
    cs_script_push_place(value->L, root->n_skipped);
    push_path(value);
}

enum { LONGEST_TEXT = 1024 };

_Noreturn static void raise_text(lua_State *L) {
    lua_error(L);
    abort();
}

void cs_value_fail(const struct cs_value *value, const char *expected, ...) {
    char text[LONGEST_TEXT]; /* lua_pushvfstring knows too few conversions */
    va_list arguments;
    va_start(arguments, expected);
    vsnprintf(text, sizeof text, expected, arguments);
    va_end(arguments);
    push_place_and_path(value);
    lua_pushliteral(value->L, ": found ");
    push_found(value);
    lua_pushfstring(value->L, ", expected %s", text);
    lua_concat(value->L, 5);
    raise_text(value->L);
}

void cs_value_refuse(const struct cs_value *value, const char *format, ...) {
    char text[LONGEST_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    push_place_and_path(value);
    lua_pushfstring(value->L, ": %s", text);
    lua_concat(value->L, 3);
    raise_text(value->L);
}

/* Pushes `"a", "b" or "c"`. */
static const char *push_choices(lua_State *L, const char *const *names, size_t n) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < n; i++) {
        luaL_addstring(&b, i == 0 ? "" : i + 1 == n ? " or " : ", ");
        add_quoted(&b, names[i], strlen(names[i]));
    }
    luaL_pushresult(&b);
    return lua_tostring(L, -1);
}

void cs_value_fail_word(const struct cs_value *value, const char *word, const char *const *names, size_t n) {
    const char *nearest = cs_text_nearest(word, names, n);
    if (nearest) cs_value_fail(value, "\"%s\"", nearest);
    cs_value_fail(value, "%s", push_choices(value->L, names, n));
}

void cs_value_fail_key(const struct cs_value *table, const char *key, const char *const *names, size_t n) {
    struct cs_value field = {.L = table->L, .owner = table, .name = key};
    const char *nearest = cs_text_nearest(key, names, n);
    if (nearest) cs_value_refuse(&field, "unknown key, did you mean \"%s\"?", nearest);
    cs_value_refuse(&field, "unknown key, expected %s", push_choices(table->L, names, n));
}

/* ---- values ---- */

struct cs_value cs_value_argument(lua_State *L, int index, const char *name) {
    if (lua_gettop(L) < index) lua_settop(L, index); /* missing arguments are nil */
    return (struct cs_value){.L = L, .at = index, .name = name};
}

void cs_value_last_argument(lua_State *L, int n, const char *function) {
    struct cs_value self = {.L = L, .name = function};
    if (lua_gettop(L) > n) cs_value_refuse(&self, "found %d arguments, expected at most %d", lua_gettop(L), n);
}

bool cs_value_field(const struct cs_value *table, const char *key, struct cs_value *field) {
    luaL_checkstack(table->L, 10, NULL);
    lua_pushstring(table->L, key);
    bool is_there = lua_rawget(table->L, table->at) != LUA_TNIL;
    *field = (struct cs_value){.L = table->L, .at = lua_gettop(table->L), .owner = table, .name = key};
    return is_there;
}

struct cs_value cs_value_item(const struct cs_value *list, lua_Integer position) {
    luaL_checkstack(list->L, 10, NULL);
    lua_rawgeti(list->L, list->at, position);
    return (struct cs_value){.L = list->L, .at = lua_gettop(list->L), .owner = list, .position = position};
}

bool cs_value_is(const struct cs_value *value, int lua_type_of_it) {
    return lua_type(value->L, value->at) == lua_type_of_it;
}

void cs_value_table(const struct cs_value *value) {
    if (!cs_value_is(value, LUA_TTABLE)) cs_value_fail(value, "a table");
    if (!lua_getmetatable(value->L, value->at)) return;
    luaL_getmetatable(value->L, CS_DECLARED_VALUES); /* all that it has is in the table itself */
    bool is_declared = lua_rawequal(value->L, -1, -2);
    lua_pop(value->L, 2);
    if (is_declared) return;
    cs_value_refuse(value, "found a table with a metatable, expected a plain table");
}

size_t cs_value_list(const struct cs_value *value) {
    lua_State *L = value->L;
    if (!cs_value_is(value, LUA_TTABLE)) cs_value_fail(value, "a list");
    cs_value_table(value);
    lua_Unsigned n = lua_rawlen(L, value->at);
    cs_script_charge(L, (double)n);
    luaL_checkstack(L, 10, NULL);
    lua_pushnil(L);
    while (lua_next(L, value->at)) {
        lua_pop(L, 1);
        lua_Integer position = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
        if (position >= 1 && (lua_Unsigned)position <= n) continue;
        struct cs_value key = {.L = L, .at = lua_gettop(L), .owner = value};
        push_found(&key);
        cs_value_refuse(value, "found key %s, expected a list", lua_tostring(L, -1));
    }
    return (size_t)n;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *const *cs_value_keys(const struct cs_value *value, size_t *n) {
    lua_State *L = value->L;
    cs_value_table(value);
    size_t count = 0;
    luaL_checkstack(L, 10, NULL);
    for (lua_pushnil(L); lua_next(L, value->at); lua_pop(L, 1)) count++;
    const char **keys = CS_SCRIPT_NEW(L, const char *, count);
    size_t i = 0;
    for (lua_pushnil(L); lua_next(L, value->at); lua_pop(L, 1)) {
        struct cs_value key = {.L = L, .at = lua_gettop(L) - 1, .owner = value, .name = "(key)"};
        if (!cs_value_is(&key, LUA_TSTRING)) {
            push_found(&key);
            cs_value_refuse(value, "found key %s, expected names", lua_tostring(L, -1));
        }
        keys[i++] = cs_value_text(&key);
    }
    qsort(keys, count, sizeof *keys, compare_texts);
    *n = count;
    return keys;
}

const char *cs_value_text(const struct cs_value *value) {
    if (!cs_value_is(value, LUA_TSTRING)) cs_value_fail(value, "a string");
    size_t length;
    const char *text = lua_tolstring(value->L, value->at, &length);
    if (strlen(text) != length) cs_value_fail(value, "a string without zero bytes");
    return cs_script_copy(value->L, text);
}

int64_t cs_value_integer(const struct cs_value *value, int64_t least, int64_t most) {
    int is_integer = 0;
    int64_t number = cs_value_is(value, LUA_TNUMBER) ? lua_tointegerx(value->L, value->at, &is_integer) : 0;
    if (is_integer && least <= number && number <= most) return number;
    if (most == INT64_MAX) cs_value_fail(value, "an integer of at least %" PRId64, least);
    cs_value_fail(value, "an integer from %" PRId64 " to %" PRId64, least, most);
}

double cs_value_number(const struct cs_value *value) {
    double number = cs_value_is(value, LUA_TNUMBER) ? lua_tonumber(value->L, value->at) : (double)NAN;
    if (!isfinite(number)) cs_value_fail(value, "a finite number");
    return number;
}

bool cs_value_flag(const struct cs_value *value) {
    if (!cs_value_is(value, LUA_TBOOLEAN)) cs_value_fail(value, "true or false");
    return lua_toboolean(value->L, value->at);
}

const void *cs_value_object(const struct cs_value *value, const char *kind) {
    const void *object = cs_object_test(value->L, value->at, kind);
    if (!object) cs_value_fail(value, "%s", kind);
    return object;
}

const char *const *cs_value_texts(const struct cs_value *value, size_t *n) {
    *n = cs_value_list(value);
    const char **texts = CS_SCRIPT_NEW(value->L, const char *, *n);
    for (size_t i = 0; i < *n; i++) {
        struct cs_value item = cs_value_item(value, (lua_Integer)i + 1);
        texts[i] = cs_value_text(&item);
        lua_pop(value->L, 1);
    }
    return texts;
}

const double *cs_value_numbers(const struct cs_value *value, size_t *n) {
    *n = cs_value_list(value);
    double *numbers = CS_SCRIPT_NEW(value->L, double, *n);
    for (size_t i = 0; i < *n; i++) {
        struct cs_value item = cs_value_item(value, (lua_Integer)i + 1);
        numbers[i] = cs_value_number(&item);
        lua_pop(value->L, 1);
    }
    return numbers;
}

size_t cs_value_word(const struct cs_value *value, const char *const *names, size_t n) {
    if (!cs_value_is(value, LUA_TSTRING)) cs_value_fail(value, "%s", push_choices(value->L, names, n));
    const char *word = cs_value_text(value);
    for (size_t i = 0; i < n; i++)
        if (cs_text_equal(word, names[i])) return i;
    cs_value_fail_word(value, word, names, n);
}

enum cs_dtype cs_value_dtype(const struct cs_value *value) {
    const char *names[CS_N_DTYPES];
    for (int i = 0; i < CS_N_DTYPES; i++) names[i] = cs_dtype_name((enum cs_dtype)i);
    enum cs_dtype dtype; /* safetensors' and torch's names are as good */
    const char *word = cs_value_is(value, LUA_TSTRING) ? cs_value_text(value) : NULL;
    if (word && cs_dtype_parse(word, &dtype) == CS_OK) return dtype;
    return (enum cs_dtype)cs_value_word(value, names, CS_N_DTYPES);
}

void cs_value_extents(const struct cs_value *value, struct cs_extents *extents) {
    bool is_number = cs_value_is(value, LUA_TNUMBER);
    size_t n = is_number ? 1 : cs_value_list(value);
    if (n < 1 || n > CS_NDIM) cs_value_refuse(value, "found %zu numbers, expected 1 to %d", n, CS_NDIM);
    extents->ndim = (int)n;
    if (is_number) extents->items[0] = cs_value_integer(value, 0, INT64_MAX);
    for (size_t i = 0; !is_number && i < n; i++) {
        struct cs_value item = cs_value_item(value, (lua_Integer)i + 1);
        extents->items[i] = cs_value_integer(&item, 0, INT64_MAX);
        lua_pop(value->L, 1);
    }
}
