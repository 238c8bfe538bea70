/* The Lua state of one scenario file: its limits, its files, its errors. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/script/internal.h"

enum {
    MOST_SCENARIOS = 64, /* of one file */
    HOOK_EVERY = 1000,   /* instructions between two looks at the budget */
    BYTES_PER_WORK = 16, /* memory that costs as much as one instruction */
    BLOCK_WORK = 8,      /* what a new block costs beside its size */
    COLLECT_WORK = 1 << 20,
    DEEP = 10000, /* calls in each other that no scenario needs */
    HARD_BYTES = 2 * CS_SCRIPT_BYTES,
    LARGEST_FILE = 4 << 20,
};

struct cs_script *cs_script_of(lua_State *L) {
    struct cs_script *script;
    memcpy(&script, lua_getextraspace(L), sizeof script);
    return script;
}

/* ---- limits ---- */

static void on_hook(lua_State *L, lua_Debug *ar);

static void hurry(struct cs_script *script) {
    if (script->is_hurried || !script->L) return;
    script->is_hurried = true;
    lua_sethook(script->L, on_hook, LUA_MASKCOUNT, 1); /* allowed at any time, as lua.c does from a signal handler */
}

_Noreturn static void raise_stop(struct cs_script *script) {
    hurry(script);
    lua_pushstring(script->L, script->stop);
    lua_error(script->L);
    abort();
}

void cs_script_stop(lua_State *L, enum cs_status status, const char *format, ...) {
    struct cs_script *script = cs_script_of(L);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(script->stop, sizeof script->stop, format, arguments);
    va_end(arguments);
    script->is_stopped = true;
    script->stop_status = status;
    raise_stop(script);
}

static void look_at_budget(struct cs_script *script) {
    if (script->is_stopped) raise_stop(script);
    if (script->bytes > CS_SCRIPT_BYTES) {
        script->work += COLLECT_WORK;
        lua_gc(script->L, LUA_GCCOLLECT);
    }
    bool is_large = script->bytes > CS_SCRIPT_BYTES;
    if (!is_large && script->work <= CS_SCRIPT_INSTRUCTIONS) return;
    lua_Debug ar;
    bool is_deep = lua_getstack(script->L, DEEP, &ar);
    cs_script_push_place(script->L, 0);
    const char *place = lua_tostring(script->L, -1);
    if (is_large)
        cs_script_stop(script->L, CS_BAD_SCRIPT, "%smore than %d MiB of memory%s", place, CS_SCRIPT_BYTES >> 20,
                       is_deep ? ": an endless recursion?" : "");
    cs_script_stop(script->L, CS_BAD_SCRIPT, "%smore than %d instructions: an endless loop?", place,
                   CS_SCRIPT_INSTRUCTIONS);
}

static void on_hook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    struct cs_script *script = cs_script_of(L);
    script->work += lua_gethookcount(L);
    look_at_budget(script);
    if (!script->is_hurried) return; /* setting a hook walks the whole call stack */
    script->is_hurried = false;
    lua_sethook(L, on_hook, LUA_MASKCOUNT, HOOK_EVERY);
}

void cs_script_charge(lua_State *L, double work) {
    struct cs_script *script = cs_script_of(L);
    script->work = work < CS_SCRIPT_INSTRUCTIONS ? script->work + (int64_t)work : INT64_MAX / 2;
    if (script->work > CS_SCRIPT_INSTRUCTIONS || script->bytes > CS_SCRIPT_BYTES || script->is_stopped)
        look_at_budget(script);
}

static void *allocate(void *context, void *block, size_t old_size, size_t size) {
    struct cs_script *script = context;
    size_t old = block ? old_size : 0; /* without a block, the "size" says what for */
    if (size > old) {
        script->work += BLOCK_WORK + (int64_t)((size - old) / BYTES_PER_WORK);
        if (size - old > HARD_BYTES || script->bytes > HARD_BYTES - (size - old)) return NULL;
    }
    script->bytes += size - old;
    if (size == 0) {
        free(block);
        return NULL;
    }
    void *moved = realloc(block, size);
    if (!moved) {
        script->bytes -= size - old;
        script->is_out_of_memory = true;
    } else if (script->bytes > CS_SCRIPT_BYTES) {
        hurry(script);
    }
    return moved;
}

void *cs_script_new(lua_State *L, size_t count, size_t size) {
    struct cs_script *script = cs_script_of(L);
    cs_script_charge(L, (double)count * (double)size / BYTES_PER_WORK);
    script->bytes += count * size; /* the charge has bounded the product */
    if (script->bytes > CS_SCRIPT_BYTES) look_at_budget(script);
    void *memory = cs_arena_alloc(script->arena, count, size);
    if (!memory) {
        script->is_out_of_memory = true;
        luaL_error(L, "out of memory");
    }
    return memory;
}

char *cs_script_copy(lua_State *L, const char *text) {
    size_t bytes = strlen(text) + 1;
    return memcpy(cs_script_new(L, bytes, 1), text, bytes);
}

/* ---- places ---- */

/* The innermost Lua function, or its `n_skipped`-th caller, or the outermost one. False when there is none. */
static bool find_place(lua_State *L, int n_skipped, lua_Debug *place) {
    bool is_found = false;
    lua_Debug ar;
    for (int level = 0; n_skipped >= 0 && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline <= 0) continue;
        *place = ar;
        is_found = true;
        n_skipped--;
    }
    return is_found;
}

int cs_script_line(lua_State *L) {
    lua_Debug place;
    return find_place(L, 0, &place) ? place.currentline : 0;
}

void cs_script_push_place(lua_State *L, int n_skipped) {
    lua_Debug place;
    if (find_place(L, n_skipped, &place))
        lua_pushfstring(L, "%s:%d: ", place.source + 1, place.currentline); /* not short_src, which Lua cuts */
    else
        lua_pushfstring(L, "%s: ", cs_script_of(L)->path);
}

/* ---- files ---- */

char *cs_script_folder(lua_State *L, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return cs_script_copy(L, ".");
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    return memcpy(cs_script_new(L, length + 1, 1), path, length);
}

static bool is_in_memory(const struct cs_script *script, const char *path) {
    return script->text && cs_text_equal(path, script->path);
}

/* What luaL_loadfilex would say less well, or not at all: a pipe never ends. */
static enum cs_status check_file(const struct cs_script *script, const char *path) {
    struct stat info;
    if (is_in_memory(script, path)) return CS_OK;
    CS_REQUIRE(stat(path, &info) == 0, CS_BAD_FILE, "cannot read \"%s\": %s", path, strerror(errno));
    CS_REQUIRE(!S_ISDIR(info.st_mode), CS_BAD_FILE, "%s: found a folder, expected a Lua file", path);
    CS_REQUIRE(S_ISREG(info.st_mode), CS_BAD_FILE, "%s: found a device or pipe, expected a Lua file", path);
    CS_REQUIRE(info.st_size <= LARGEST_FILE, CS_BAD_FILE, "%s: found %lld bytes, expected at most %d", path,
               (long long)info.st_size, LARGEST_FILE);
    return CS_OK;
}

/* As text only: bytecode could break out of the sandbox. */
static int load(lua_State *L, const struct cs_script *script, const char *path) {
    if (!is_in_memory(script, path)) return luaL_loadfilex(L, path, "t");
    const char *name = lua_pushfstring(L, "@%s", path);
    int code = luaL_loadbufferx(L, script->text, strlen(script->text), name, "t");
    lua_remove(L, -2);
    return code;
}

void cs_script_push_file(lua_State *L, const char *name, const char *path) {
    struct cs_script *script = cs_script_of(L);
    if (check_file(script, path) != CS_OK) luaL_error(L, "%s", cs_error_text());
    struct cs_script_file *file = CS_SCRIPT_NEW(L, struct cs_script_file, 1);
    *file = (struct cs_script_file){.next = script->files, .name = name, .path = path};
    script->files = file;
    switch (load(L, script, path)) {
    case LUA_OK:
        return;
    case LUA_ERRFILE:
        luaL_error(L, "%s: cannot read: %s", path, strerror(errno));
        break;
    default:
        lua_error(L);
    }
}

/* ---- running ---- */

#define RETURN_SCENARIO "expected \"return cs.scenario { … }\""

static const struct cs_scenario *scenario_at(lua_State *L, const char *where) {
    const struct cs_scenario *scenario = cs_object_test(L, -1, CS_OBJECT_SCENARIO);
    if (scenario) return scenario;
    const char *kind = cs_object_kind(L, -1);
    luaL_error(L, "%s: the file returned %s%s, " RETURN_SCENARIO, cs_script_of(L)->path, where,
               lua_isnil(L, -1) ? "nothing"
               : kind           ? kind
                                : luaL_typename(L, -1));
    return NULL;
}

static void take_list(lua_State *L, struct cs_script *script) {
    size_t n = lua_rawlen(L, -1);
    if (n == 0 || n > MOST_SCENARIOS)
        luaL_error(L, "%s: the file returned a list of %d scenarios, expected 1 to %d", script->path, (int)n,
                   MOST_SCENARIOS);
    script->results = CS_SCRIPT_NEW(L, const struct cs_scenario *, n);
    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        script->results[i] = scenario_at(L, "a list with ");
        lua_pop(L, 1);
        for (size_t j = 0; j < i; j++)
            if (cs_text_equal(script->results[i]->name, script->results[j]->name))
                luaL_error(L, "%s: the file returned two scenarios of the name \"%s\"", script->path,
                           script->results[i]->name);
    }
    script->n_results = n;
}

static int run_file(lua_State *L) {
    struct cs_script *script = cs_script_of(L);
    cs_sandbox_open(L);
    cs_bindings_open(L);
    cs_script_push_file(L, NULL, script->path);
    lua_call(L, 0, 1);
    bool is_list = lua_istable(L, -1) && lua_rawlen(L, -1) > 0;
    if (is_list) {
        take_list(L, script);
        return 0;
    }
    script->results = CS_SCRIPT_NEW(L, const struct cs_scenario *, 1);
    script->results[0] = scenario_at(L, "");
    script->n_results = 1;
    return 0;
}

/* Lua cuts file names in its own messages to 59 bytes, keeping the end: puts the whole name back. */
static const char *skip_cut_name(const char *message, const char *path) {
    char cut[LUA_IDSIZE];
    size_t length = strlen(path);
    if (length < sizeof cut)
        memcpy(cut, path, length + 1);
    else
        snprintf(cut, sizeof cut, "...%s", path + length - (sizeof cut - 4));
    size_t n = strlen(cut);
    return strncmp(message, cut, n) == 0 && message[n] == ':' ? message + n : NULL;
}

static enum cs_status fail_with(const struct cs_script *script, const char *message) {
    for (const struct cs_script_file *file = script->files; file; file = file->next) {
        if (strncmp(message, file->path, strlen(file->path)) == 0) return cs_fail(CS_BAD_SCRIPT, "%s", message);
        const char *rest = skip_cut_name(message, file->path);
        if (rest) return cs_fail(CS_BAD_SCRIPT, "%s%s", file->path, rest);
    }
    return cs_fail(CS_BAD_SCRIPT, "%s: %s", script->path, message);
}

static enum cs_status status_of(const struct cs_script *script, int code) {
    CS_REQUIRE(!script->is_out_of_memory, CS_NO_MEMORY, "%s: out of memory", script->path);
    CS_REQUIRE(!script->is_stopped, script->stop_status, "%s", script->stop); /* even if a pcall hid it */
    if (code == LUA_OK) return CS_OK;
    CS_REQUIRE(code != LUA_ERRMEM, CS_BAD_SCRIPT, "%s: more than %d MiB of memory", script->path,
               CS_SCRIPT_BYTES >> 20);
    if (lua_type(script->L, -1) == LUA_TSTRING) return fail_with(script, lua_tostring(script->L, -1));
    return cs_fail(CS_BAD_SCRIPT, "%s%sraised an error that is no text but a %s value",
                   script->thrown_at ? script->thrown_at : script->path, script->thrown_at ? "" : ": ",
                   luaL_typename(script->L, -1));
}

/* A setting that no cs.declare has seen. */
static enum cs_status check_settings(const struct cs_script *script) {
    const struct cs_setting *setting = script->settings;
    CS_REQUIRE(script->n_settings == 0 || script->declared, CS_BAD_USAGE, "--set %s=%s: %s declares no options",
               setting->name, setting->value, script->path);
    return CS_OK;
}

static enum cs_status take_results(const struct cs_script *script, struct cs_script_list *list) {
    list->items = CS_NEW_ARRAY(script->arena, struct cs_scenario, script->n_results);
    CS_REQUIRE(list->items, CS_NO_MEMORY, "%s: out of memory", script->path);
    list->n = script->n_results;
    for (size_t i = 0; i < list->n; i++) {
        list->items[i] = *script->results[i];
        list->items[i].n_declared = script->n_declared;
        list->items[i].declared = script->declared;
    }
    return CS_OK;
}

enum cs_status cs_script_run(struct cs_script *script, const char *path, struct cs_arena *arena,
                             lua_CFunction function) {
    script->path = cs_arena_text(arena, path);
    script->arena = arena;
    CS_REQUIRE(script->path, CS_NO_MEMORY, "%s: out of memory", path);
    CS_TRY(check_file(script, path));
    lua_State *L = lua_newstate(allocate, script);
    CS_REQUIRE(L, CS_NO_MEMORY, "%s: out of memory", path);
    memcpy(lua_getextraspace(L), &script, sizeof script);
    script->L = L;
    lua_sethook(L, on_hook, LUA_MASKCOUNT, HOOK_EVERY);
    lua_pushcfunction(L, function);
    enum cs_status status = status_of(script, lua_pcall(L, 0, 0, 0));
    lua_close(L);
    return status;
}

enum cs_status cs_script_parse_all(const char *path, const struct cs_setting *settings, size_t n_settings,
                                   struct cs_arena *arena, struct cs_script_list *list) {
    struct cs_script script = {.n_settings = n_settings, .settings = settings};
    CS_TRY(cs_script_run(&script, path, arena, run_file));
    CS_TRY(check_settings(&script));
    return take_results(&script, list);
}

enum cs_status cs_script_parse(const char *path, const struct cs_setting *settings, size_t n_settings,
                               struct cs_arena *arena, struct cs_scenario *scenario) {
    struct cs_script_list list;
    CS_TRY(cs_script_parse_all(path, settings, n_settings, arena, &list));
    *scenario = list.items[0];
    return CS_OK;
}

enum cs_status cs_script_load_all(const char *path, const struct cs_setting *settings, size_t n_settings,
                                  struct cs_arena *arena, struct cs_script_list *list) {
    CS_TRY(cs_script_parse_all(path, settings, n_settings, arena, list));
    for (size_t i = 0; i < list->n; i++) CS_TRY(cs_scenario_check(&list->items[i]));
    return CS_OK;
}

enum cs_status cs_script_load_set(const char *path, const struct cs_setting *settings, size_t n_settings,
                                  struct cs_arena *arena, struct cs_scenario *scenario) {
    struct cs_script_list list;
    CS_TRY(cs_script_load_all(path, settings, n_settings, arena, &list));
    *scenario = list.items[0];
    return CS_OK;
}

enum cs_status cs_script_load(const char *path, struct cs_arena *arena, struct cs_scenario *scenario) {
    return cs_script_load_set(path, NULL, 0, arena, scenario);
}

enum cs_status cs_script_load_text(const char *name, const char *text, struct cs_arena *arena,
                                   struct cs_scenario *scenario) {
    struct cs_script script = {.text = text};
    struct cs_script_list list;
    CS_TRY(cs_script_run(&script, name, arena, run_file));
    CS_TRY(take_results(&script, &list));
    *scenario = list.items[0];
    return cs_scenario_check(scenario);
}
