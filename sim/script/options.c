/* Options: of functions in models/ (cs.options), and of a file, for the command line (cs.declare). */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/script/fields.h"

/* ---- cs.options ---- */

/* An option must be of its default's kind. */
static void check_option(const struct cs_value *option, const struct cs_value *default_value) {
    lua_State *L = option->L;
    int type = lua_type(L, default_value->at);
    if (lua_isinteger(L, default_value->at))
        cs_value_integer(option, 1, INT32_MAX);
    else if (type == LUA_TNUMBER)
        cs_value_number(option);
    else if (!cs_value_is(option, type))
        cs_value_fail(option, "a %s", lua_typename(L, type));
}

/* The caller of the function that calls cs.options is to blame: "scenario.lua:7: gpt_oss_20b.layres: unknown key …". */
int cs_script_options(lua_State *L) {
    lua_settop(L, 3);
    struct cs_value name = cs_value_argument(L, 1, "cs.options.name");
    struct cs_value given = cs_value_argument(L, 2, cs_value_text(&name)),
                    defaults = cs_value_argument(L, 3, "cs.options.defaults");
    given.n_skipped = 1;
    size_t n = 0, n_given = 0;
    const char *const *keys = cs_value_keys(&defaults, &n), *const *given_keys = NULL;
    if (!lua_isnoneornil(L, 2)) given_keys = cs_value_keys(&given, &n_given);
    for (size_t i = 0; i < n_given; i++) {
        struct cs_value option, default_value;
        cs_value_field(&given, given_keys[i], &option);
        if (!cs_value_field(&defaults, given_keys[i], &default_value))
            cs_value_fail_key(&given, given_keys[i], keys, n);
        check_option(&option, &default_value);
        lua_pop(L, 2);
    }
    lua_newtable(L);
    for (size_t i = 0; i < n; i++) {
        struct cs_value option;
        bool is_given = n_given && cs_value_field(&given, keys[i], &option);
        if (!is_given) cs_value_field(&defaults, keys[i], &option);
        lua_setfield(L, 4, keys[i]);
        lua_settop(L, 4);
    }
    return 1;
}

/* ---- cs.declare: what a file says ---- */

#define DECLARED struct cs_declared

/* As short as reads back the same. */
static const char *number_text(lua_State *L, double number) {
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    return cs_script_copy(L, text);
}

static const char *integer_text(lua_State *L, int64_t integer) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, integer);
    return cs_script_copy(L, text);
}

static void read_default(const struct cs_value *value, void *structure) {
    DECLARED *option = structure;
    lua_State *L = value->L;
    switch (lua_type(L, value->at)) {
    case LUA_TNUMBER:
        option->kind = lua_isinteger(L, value->at) ? CS_DECLARED_INTEGER : CS_DECLARED_NUMBER;
        option->initial = option->kind == CS_DECLARED_INTEGER ? integer_text(L, lua_tointeger(L, value->at))
                                                              : number_text(L, cs_value_number(value));
        break;
    case LUA_TBOOLEAN:
        option->kind = CS_DECLARED_BOOLEAN;
        option->initial = lua_toboolean(L, value->at) ? "true" : "false";
        break;
    case LUA_TSTRING:
        option->kind = CS_DECLARED_STRING;
        option->initial = cs_value_text(value);
        break;
    default:
        cs_value_fail(value, "a default: a number, true or false, or a string");
    }
}

static bool is_number(const DECLARED *option) {
    return option->kind == CS_DECLARED_INTEGER || option->kind == CS_DECLARED_NUMBER;
}

static bool is_within(const DECLARED *option, double number) {
    return !(option->has_least && number < option->least) && !(option->has_most && number > option->most);
}

static void check_option_limits(const struct cs_value *value, void *structure) {
    const DECLARED *option = structure;
    struct cs_value initial;
    cs_value_field(value, "[1]", &initial);
    if (!is_number(option) && (option->has_least || option->has_most))
        cs_value_fail(&initial, "a number, since there is %s", option->has_least ? "least" : "most");
    if (is_number(option) && !is_within(option, strtod(option->initial, NULL)))
        cs_value_fail(&initial, "a default within least and most");
    lua_pop(value->L, 1);
}

/* clang-format off */
static const struct cs_field option_fields[] = {
    {CS_CUSTOM_ROW("[1]", read_default, "number|boolean|string", "the default; values must be of its type"),
     CS_REQUIRED_AS("a default: a number, true or false, or a string")},
    {CS_TEXT_ROW("[2]", DECLARED, text, "what it is, in one line")},
    {CS_NUMBER_ROW("least", DECLARED, least, has_least, "smallest value of a number")},
    {CS_NUMBER_ROW("most", DECLARED, most, has_most, "largest value of a number")},
};
/* clang-format on */
const struct cs_record cs_record_option = CS_RECORD("cs.Option", option_fields, DECLARED, check_option_limits);

/* Pushes { ["[1]"] = 4, ["[2]"] = "text", least = 1 } for { 4, "text", least = 1 } or 4: keys that a record can read.
 */
static void push_named(const struct cs_value *value) {
    lua_State *L = value->L;
    bool is_table = cs_value_is(value, LUA_TTABLE);
    if (is_table) cs_value_table(value);
    lua_newtable(L);
    int named = lua_gettop(L);
    if (!is_table) {
        lua_pushvalue(L, value->at);
        lua_setfield(L, named, "[1]");
        return;
    }
    for (lua_pushnil(L); lua_next(L, value->at);) {
        lua_Integer position = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
        if (position == 1 || position == 2) {
            lua_setfield(L, named, position == 1 ? "[1]" : "[2]");
        } else {
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, named);
        }
    }
}

static void read_option(const struct cs_value *table, const char *name, DECLARED *option) {
    struct cs_value value;
    cs_value_field(table, name, &value);
    bool is_good = isalpha((unsigned char)*name) || *name == '_';
    for (const char *c = name; *c; c++) is_good = is_good && (isalnum((unsigned char)*c) || *c == '_');
    if (!is_good) cs_value_refuse(&value, "found a name that --set cannot take, expected letters, digits and _");
    push_named(&value);
    value.at = lua_gettop(table->L);
    option->name = name;
    cs_value_record(&value, &cs_record_option, option);
    option->value = option->initial;
    lua_pop(table->L, 2);
}

/* ---- --set ---- */

/* "experts, hidden, layers"; in the arena. */
static const char *list_names(lua_State *L, const DECLARED *options, size_t n) {
    lua_pushliteral(L, "");
    for (size_t i = 0; i < n; i++) {
        lua_pushfstring(L, "%s%s", i ? ", " : "", options[i].name);
        lua_concat(L, 2);
    }
    const char *list = cs_script_copy(L, lua_tostring(L, -1));
    lua_pop(L, 1);
    return list;
}

static DECLARED *find_option(lua_State *L, const struct cs_setting *setting, DECLARED *options, size_t n) {
    const char **names = CS_SCRIPT_NEW(L, const char *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = options[i].name;
        if (cs_text_equal(options[i].name, setting->name)) return &options[i];
    }
    const char *nearest = cs_text_nearest(setting->name, names, n), *path = cs_script_of(L)->path;
    const char *list = list_names(L, options, n);
    if (nearest)
        cs_script_stop(L, CS_BAD_USAGE, "--set %s=%s: unknown option, did you mean \"%s\"? %s declares %s",
                       setting->name, setting->value, nearest, path, list);
    cs_script_stop(L, CS_BAD_USAGE, "--set %s=%s: unknown option, %s declares %s", setting->name, setting->value, path,
                   list);
}

/* "an integer from 1 to 128" */
const char *cs_declared_type(const struct cs_declared *option, char *buffer, size_t size) {
    static const char *const names[] = {"an integer", "a number", "true or false", "a string"};
    const char *name = names[option->kind];
    if (option->has_least && option->has_most)
        snprintf(buffer, size, "%s from %.15g to %.15g", name, option->least, option->most);
    else if (option->has_least || option->has_most)
        snprintf(buffer, size, "%s of at %s %.15g", name, option->has_least ? "least" : "most",
                 option->has_least ? option->least : option->most);
    else
        snprintf(buffer, size, "%s", name);
    return buffer;
}

/* Whether the text is a value of the option's type, and its value in the option's own spelling: 0x10 → 16. */
static bool read_set(lua_State *L, DECLARED *option, const char *text) {
    char *end = NULL;
    int base = strncmp(text, "0x", 2) == 0 ? 16 : 10; /* 010 is ten */
    errno = 0;
    if (option->kind == CS_DECLARED_INTEGER) {
        long long integer = strtoll(text, &end, base);
        option->value = integer_text(L, integer);
        return *text && !*end && errno == 0 && !isspace((unsigned char)*text) && is_within(option, (double)integer);
    }
    if (option->kind == CS_DECLARED_NUMBER) {
        double number = strtod(text, &end);
        option->value = number_text(L, number);
        return *text && !*end && isfinite(number) && !isspace((unsigned char)*text) && is_within(option, number);
    }
    option->value = text;
    return option->kind == CS_DECLARED_STRING || cs_text_equal(text, "true") || cs_text_equal(text, "false");
}

static void set_option(lua_State *L, const struct cs_setting *setting, DECLARED *options, size_t n) {
    DECLARED *option = find_option(L, setting, options, n);
    char type[128];
    if (!read_set(L, option, setting->value))
        cs_script_stop(L, CS_BAD_USAGE, "--set %s=%s: found \"%s\", expected %s, as %s declares it", setting->name,
                       setting->value, setting->value, cs_declared_type(option, type, sizeof type),
                       cs_script_of(L)->path);
}

/* ---- cs.declare: what a file gets ---- */

static void push_option(lua_State *L, const DECLARED *option) {
    switch (option->kind) {
    case CS_DECLARED_INTEGER:
        lua_pushinteger(L, strtoll(option->value, NULL, 10));
        break;
    case CS_DECLARED_NUMBER:
        lua_pushnumber(L, strtod(option->value, NULL));
        break;
    case CS_DECLARED_BOOLEAN:
        lua_pushboolean(L, cs_text_equal(option->value, "true"));
        break;
    case CS_DECLARED_STRING:
        lua_pushstring(L, option->value);
        break;
    }
}

/* __index of the values: nil would be taken for an option that was not given. */
static int unknown_option(lua_State *L) {
    const struct cs_script *script = cs_script_of(L);
    const char **names = CS_SCRIPT_NEW(L, const char *, script->n_declared);
    for (size_t i = 0; i < script->n_declared; i++) names[i] = script->declared[i].name;
    struct cs_value table = {.L = L, .at = 1, .name = "cs.declare"};
    cs_value_fail_key(&table, luaL_tolstring(L, 2, NULL), names, script->n_declared);
}

static void push_values(lua_State *L, const DECLARED *options, size_t n) {
    lua_newtable(L);
    for (size_t i = 0; i < n; i++) {
        push_option(L, &options[i]);
        lua_setfield(L, -2, options[i].name);
    }
    if (luaL_newmetatable(L, CS_DECLARED_VALUES)) {
        lua_pushcfunction(L, unknown_option);
        lua_setfield(L, -2, "__index");
        lua_pushboolean(L, false);
        lua_setfield(L, -2, "__metatable");
    }
    lua_setmetatable(L, -2);
}

int cs_script_declare(lua_State *L) {
    struct cs_script *script = cs_script_of(L);
    struct cs_value argument = cs_value_argument(L, 1, "cs.declare");
    cs_value_last_argument(L, 1, "cs.declare");
    lua_settop(L, 1);
    size_t n = 0;
    const char *const *names = cs_value_keys(&argument, &n);
    if (n == 0) cs_value_refuse(&argument, "found an empty table, expected options such as experts = 4");
    if (script->declared) cs_value_refuse(&argument, "options are declared already: one table declares them all");
    DECLARED *options = CS_SCRIPT_NEW(L, DECLARED, n);
    for (size_t i = 0; i < n; i++) read_option(&argument, names[i], &options[i]);
    for (size_t i = 0; i < script->n_settings; i++) set_option(L, &script->settings[i], options, n);
    script->declared = options;
    script->n_declared = n;
    push_values(L, options, n);
    return 1;
}
