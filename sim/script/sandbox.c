/* What a scenario may call beside `cs`: Lua's libraries without files, clocks, randomness and code from strings, and
 * with the few functions fenced that could run for ever inside C, where no instruction count sees them. */
#define _XOPEN_SOURCE 700 /* realpath */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lualib.h>

#include "sim/script/arguments.h"

/* No xpcall: a message handler runs inside the hook that stops the script, and hooks do not nest. No coroutines: what
 * they close after an error runs without hooks. */
static const char *const base_names[] = {"_G",     "_VERSION",     "assert",   "error",    "getmetatable", "ipairs",
                                         "next",   "pcall",        "rawequal", "rawget",   "rawlen",       "rawset",
                                         "select", "setmetatable", "tonumber", "tostring", "type",         NULL};
static const char *const string_names[] = {"byte",  "char",  "find", "format",  "gmatch", "gsub",  "len",
                                           "lower", "match", "rep",  "reverse", "sub",    "upper", NULL};
static const char *const table_names[] = {"concat", "insert", "move", "pack", "remove", "sort", "unpack", NULL};
static const char *const math_names[] = {"abs", "acos",       "asin", "atan", "ceil", "cos", "deg",
                                         "exp", "floor",      "fmod", "huge", "log",  "max", "maxinteger",
                                         "min", "mininteger", "modf", "pi",   "rad",  "sin", "sqrt",
                                         "tan", "tointeger",  "type", "ult",  NULL};
static const char *const utf8_names[] = {"char", "charpattern", "codepoint", "codes", "len", "offset", NULL};

static const struct {
    const char *name;
    lua_CFunction open;
    const char *const *allowed;
} libraries[] = {
    {"_G", luaopen_base, base_names},   {"string", luaopen_string, string_names}, {"table", luaopen_table, table_names},
    {"math", luaopen_math, math_names}, {"utf8", luaopen_utf8, utf8_names},
};

static bool is_allowed(const char *name, const char *const *allowed) {
    for (; *allowed; allowed++)
        if (cs_text_equal(name, *allowed)) return true;
    return false;
}

/* Removes from the table on top of the stack what the list does not name. */
static void keep_only(lua_State *L, const char *const *allowed) {
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pop(L, 1);
        if (is_allowed(lua_tostring(L, -1), allowed)) continue;
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4); /* clearing a field is allowed while traversing */
    }
}

/* ---- fences. Upvalue 1 is the library function behind the fence. ---- */

/* In the same frame, so that its errors name the function and the line. Library functions have no upvalues of their
 * own. */
static int call_behind(lua_State *L) { return lua_tocfunction(L, lua_upvalueindex(1))(L); }

/* Items of a pattern that can match in several ways: each multiplies the time by up to the subject's length. */
static int count_choices(const char *pattern, size_t length) {
    int n = 0;
    for (size_t i = 0; i < length; i++) {
        if (pattern[i] == '%') {
            i++; /* an escaped character, but %b and %1 scan */
            if (i < length && (pattern[i] == 'b' || isdigit((unsigned char)pattern[i]))) n++;
        } else if (pattern[i] == '[') {
            i += i + 1 < length && pattern[i + 1] == '^' ? 2 : 1;
            for (i++; i < length && pattern[i] != ']'; i++) i += pattern[i] == '%';
        } else if (strchr("*+-?", pattern[i])) {
            n++;
        }
    }
    return n;
}

/* Charges the most that a match can cost: ways to choose the ends of all items, times the places to start at. */
static int fence_pattern(lua_State *L) {
    size_t n, length;
    luaL_checklstring(L, 1, &n);
    const char *pattern = luaL_checklstring(L, 2, &length);
    double cost = *pattern == '^' ? 1 : (double)(n + 1);
    int choices = count_choices(pattern, length);
    for (int i = 1; i <= choices; i++) cost *= ((double)n + i) / i;
    cs_script_charge(L, cost * (1 + (double)length / 16));
    return call_behind(L);
}

static int fence_rep(lua_State *L) {
    size_t length, separator = 0;
    luaL_checklstring(L, 1, &length);
    lua_Integer n = luaL_checkinteger(L, 2);
    luaL_optlstring(L, 3, "", &separator);
    if ((double)n * (double)(length + separator) > CS_SCRIPT_BYTES)
        luaL_error(L, "string.rep: found %I times %I bytes, expected at most %I in all", (LUAI_UACINT)n,
                   (LUAI_UACINT)(length + separator), (LUAI_UACINT)CS_SCRIPT_BYTES);
    if (n > 0) cs_script_charge(L, (double)n / 16); /* the empty string, 2^62 times */
    return call_behind(L);
}

static int fence_move(lua_State *L) {
    double n = (double)luaL_checkinteger(L, 3) - (double)luaL_checkinteger(L, 2) + 1;
    if (n > 0) cs_script_charge(L, n);
    return call_behind(L);
}

/* table.insert and its like believe what __len says. */
static int fence_length(lua_State *L) {
    if (luaL_getmetafield(L, 1, "__len") != LUA_TNIL) luaL_error(L, "a table with __len is not supported here");
    if (lua_gettop(L) == 3) cs_script_charge(L, (double)lua_rawlen(L, 1) / 16); /* table.insert in the middle */
    return call_behind(L);
}

/* Finalizers run without hooks: nothing could stop them. */
static int fence_setmetatable(lua_State *L) {
    if (lua_istable(L, 2)) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL) luaL_error(L, "setmetatable: __gc is not supported here");
        lua_pop(L, 1);
    }
    return call_behind(L);
}

/* A failure deep in a recursion is dear. Passes the end of the budget on. */
static int fence_pcall(lua_State *L) {
    enum { FAILURE_WORK = 20 };
    luaL_checkany(L, 1);
    int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
    if (status != LUA_OK) cs_script_charge(L, FAILURE_WORK);
    lua_pushboolean(L, status == LUA_OK);
    lua_insert(L, 1);
    return lua_gettop(L);
}

static const struct {
    const char *library, *name;
    lua_CFunction fence;
} fences[] = {
    {"_G", "pcall", fence_pcall},        {"_G", "setmetatable", fence_setmetatable}, {"string", "find", fence_pattern},
    {"string", "gmatch", fence_pattern}, {"string", "gsub", fence_pattern},          {"string", "match", fence_pattern},
    {"string", "rep", fence_rep},        {"table", "concat", fence_length},          {"table", "insert", fence_length},
    {"table", "move", fence_move},       {"table", "remove", fence_length},          {"table", "sort", fence_length},
    {"table", "unpack", fence_length},
};

static void put_fences(lua_State *L) {
    for (size_t i = 0; i < CS_COUNT(fences); i++) {
        lua_getglobal(L, fences[i].library);
        lua_getfield(L, -1, fences[i].name);
        lua_pushcclosure(L, fences[i].fence, 1);
        lua_setfield(L, -2, fences[i].name);
        lua_pop(L, 1);
    }
}

/* ---- pairs in a fixed order ---- */

/* Numbers before strings before the rest. Lua's own order changes from run to run: its hash is seeded by time and
 * addresses. */
static int order_of(lua_State *L, int index) {
    int type = lua_type(L, index);
    return type == LUA_TNUMBER ? 0 : type == LUA_TSTRING ? 1 : 2;
}

static int compare_keys(lua_State *L) {
    int a = order_of(L, 1), b = order_of(L, 2);
    lua_pushboolean(L, a != b ? a < b : a < 2 && lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
}

/* Upvalues: the table, its sorted keys, the position. */
static int next_pair(lua_State *L) {
    for (;;) {
        lua_Integer position = lua_tointeger(L, lua_upvalueindex(3)) + 1;
        lua_pushinteger(L, position);
        lua_replace(L, lua_upvalueindex(3));
        if (lua_rawgeti(L, lua_upvalueindex(2), position) == LUA_TNIL) return 1;
        lua_pushvalue(L, -1);
        if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 2;
        lua_settop(L, 0); /* removed since */
    }
}

static int sorted_pairs(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_newtable(L);
    lua_Integer n = 0;
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, 2, ++n);
    }
    cs_script_charge(L, (double)n * 4);
    lua_pushvalue(L, lua_upvalueindex(1)); /* table.sort */
    lua_pushvalue(L, 2);
    lua_pushcfunction(L, compare_keys);
    lua_call(L, 2, 0);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_pair, 3);
    return 1;
}

/* ---- print ---- */

/* To stderr: stdout belongs to reports. */
static int print_to_stderr(lua_State *L) {
    enum { LINE_WORK = 5000 }; /* 10 000 lines are enough */
    int n = lua_gettop(L);
    cs_script_charge(L, LINE_WORK);
    cs_script_push_place(L, 0);
    fputs(lua_tostring(L, -1), stderr);
    lua_pop(L, 1);
    for (int i = 1; i <= n; i++) {
        fputs(i > 1 ? "\t" : "", stderr);
        fputs(luaL_tolstring(L, i, NULL), stderr);
        lua_pop(L, 1);
    }
    fputs("\n", stderr);
    return 0;
}

/* ---- error ---- */

/* As Lua's own. Only texts carry a place: of other values the place is kept here. */
static int raise_error(lua_State *L) {
    lua_Integer level = luaL_optinteger(L, 2, 1);
    lua_settop(L, 1);
    if (lua_type(L, 1) != LUA_TSTRING) {
        cs_script_push_place(L, level > 1 ? 1 : 0);
        cs_script_of(L)->thrown_at = cs_script_copy(L, lua_tostring(L, -1));
        lua_settop(L, 1);
        return lua_error(L);
    }
    if (level > 0) {
        luaL_where(L, (int)level);
        lua_insert(L, 1);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

/* ---- require ---- */

static bool is_module_name(const char *name) {
    for (const char *c = name; *c; c++) {
        bool is_word = islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_';
        if (!is_word && (*c != '.' || c == name || c[-1] == '.' || !c[1])) return false;
    }
    return *name != 0;
}

/* The folder above, as text: "a/b" → "a" → "." → "..". NULL above the root. */
static char *parent_of(lua_State *L, char *folder) {
    const char *slash = strrchr(folder, '/'), *last = slash ? slash + 1 : folder;
    if (cs_text_equal(folder, "/")) return NULL;
    if (cs_text_equal(folder, ".")) return cs_script_copy(L, "..");
    if (!cs_text_equal(last, ".") && !cs_text_equal(last, "..")) return cs_script_folder(L, folder);
    lua_pushfstring(L, "%s/..", folder);
    char *parent = cs_script_copy(L, lua_tostring(L, -1));
    lua_pop(L, 1);
    return parent;
}

static bool is_scenarios(const char *folder) {
    char *real = realpath(folder, NULL);
    const char *slash = real ? strrchr(real, '/') : NULL;
    bool is = slash && cs_text_equal(slash + 1, "scenarios");
    free(real);
    return is;
}

/* The file beside the scenario or in a folder above it, up to the one named scenarios; at most 4 above. */
static const char *find_module(lua_State *L, const char *name) {
    enum { FOLDERS = 5 };
    char *folder = cs_script_folder(L, cs_script_of(L)->path);
    const char *relative = luaL_gsub(L, name, ".", "/");
    for (int i = 0; i < FOLDERS && folder; i++) {
        if (cs_text_equal(folder, "."))
            lua_pushfstring(L, "%s.lua", relative);
        else
            lua_pushfstring(L, "%s/%s.lua", folder, relative);
        const char *path = lua_tostring(L, -1);
        if (access(path, F_OK) == 0) return cs_script_copy(L, path);
        lua_pop(L, 1);
        if (is_scenarios(folder)) break;
        folder = parent_of(L, folder);
    }
    return NULL;
}

static struct cs_script_file *find_loaded(lua_State *L, const char *name) {
    struct cs_script_file *file = cs_script_of(L)->files;
    while (file && !(file->name && cs_text_equal(file->name, name))) file = file->next;
    return file;
}

/* Upvalue 1: values of the files that were loaded. */
static int require_file(lua_State *L) {
    struct cs_value argument = cs_value_argument(L, 1, "require");
    if (!cs_value_is(&argument, LUA_TSTRING)) cs_value_fail(&argument, "a name such as \"models.gpt_oss\"");
    const char *name = cs_value_text(&argument);
    if (!is_module_name(name))
        cs_value_fail(&argument, "a name of a-z, 0-9, _ and dots between words, such as \"models.gpt_oss\"");
    struct cs_script_file *file = find_loaded(L, name);
    if (file && !file->is_loaded) cs_value_refuse(&argument, "\"%s\" requires itself", name);
    if (lua_getfield(L, lua_upvalueindex(1), name) != LUA_TNIL) return 1;
    const char *path = find_module(L, name);
    if (!path)
        cs_value_refuse(&argument,
                        "\"%s\": no such file beside the scenario or in the folders above it, up to scenarios", name);
    cs_script_push_file(L, name, path);
    file = find_loaded(L, name);
    lua_call(L, 0, 1);
    file->is_loaded = true;
    if (lua_isnil(L, -1)) lua_pushboolean(L, true);
    lua_pushvalue(L, -1);
    lua_setfield(L, lua_upvalueindex(1), name);
    return 1;
}

void cs_sandbox_open(lua_State *L) {
    for (size_t i = 0; i < CS_COUNT(libraries); i++) {
        luaL_requiref(L, libraries[i].name, libraries[i].open, true);
        keep_only(L, libraries[i].allowed);
        lua_pop(L, 1);
    }
    lua_getglobal(L, "table");
    lua_getfield(L, -1, "sort");
    lua_pushcclosure(L, sorted_pairs, 1);
    lua_setglobal(L, "pairs");
    lua_pop(L, 1);
    put_fences(L);
    lua_pushcfunction(L, print_to_stderr);
    lua_setglobal(L, "print");
    lua_pushcfunction(L, raise_error);
    lua_setglobal(L, "error");
    lua_newtable(L);
    lua_pushcclosure(L, require_file, 1);
    lua_setglobal(L, "require");
}
