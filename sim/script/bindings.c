/* The functions of the language, and the objects that they pass around. */
#include <string.h>

#include "sim/script/internal.h"

const struct cs_binding cs_bindings[] = {
    {"cs.cast", "cs.cast(param, dtype)", "Post-load step: the value, converted to another dtype.", cs_script_cast,
     NULL},
    {"cs.config", "cs.config(path, param)", "Post-load step: the quant config holds the parameter at this path.",
     cs_script_config, NULL},
    {"cs.constant", "cs.constant(path, value)",
     "Post-load step: the experts object owns a constant at this path, made anew each time.", cs_script_constant, NULL},
    {"cs.equal", "cs.equal()", "Expectation: every channel equals a cold start, and nothing by luck.", cs_script_equal,
     NULL},
    {"cs.folder", "cs.folder(path)", "Checkpoint: safetensors files, relative to the scenario's file.",
     cs_script_folder_checkpoint, NULL},
    {"cs.model", "cs.model { name, layers, hidden, modules, … }", "A model: modules, in each decoder layer or outside.",
     cs_script_model, &cs_record_model},
    {"cs.module", "cs.module { name, tensors = { … } }", "A module of cs.model.", cs_script_module, &cs_record_module},
    {"cs.options", "cs.options(name, given, defaults)",
     "The defaults, overridden by what was given; unknown keys are errors of the caller.", cs_script_options, NULL},
    {"cs.pattern", "cs.pattern(version)", "Checkpoint: the numbers of captured reloads.", cs_script_pattern, NULL},
    {"cs.perturbed", "cs.perturbed(checkpoint [, version])",
     "Checkpoint: a copy of another one that differs in every element.", cs_script_perturbed, NULL},
    {"cs.refused", "cs.refused [text]", "Expectation: the load before was refused, as the real engine refuses it.",
     cs_script_refused, NULL},
    {"cs.relayout", "cs.relayout(param, layout, …)", "Post-load step: the value through a chain of layouts.",
     cs_script_relayout, NULL},
    {"cs.replace", "cs.replace(param)", "Post-load step: the parameter becomes the value.", cs_script_replace, NULL},
    {"cs.scenario", "cs.scenario { name, model, run, … }", "What a file returns.", cs_script_scenario,
     &cs_record_scenario},
    {"cs.synthetic", "cs.synthetic()", "Checkpoint: numbers computed from seed, name and index.", cs_script_synthetic,
     NULL},
    {"cs.toy", "cs.toy { params, loads, post_load, … }", "A model of one module, with every loader call spelled out.",
     cs_script_toy, &cs_record_toy},
    {"cs.view", "cs.view(param, dtype)", "Post-load step: the same bytes as another dtype.", cs_script_view, NULL},
    {"s:cold_start", "s:cold_start(checkpoint) or s:cold_start { checkpoint, driver, loader }", "Starts the server.",
     cs_script_cold_start, &cs_record_cold_start},
    {"s:expect", "s:expect(expectation)",
     "Judges the server: an expectation, a table of counts, or one of either for each policy.", cs_script_expect, NULL},
    {"s:reload", "s:reload { driver, checkpoint, … }", "Loads another checkpoint into the running server.",
     cs_script_reload, &cs_record_reload},
};
const size_t cs_n_bindings = CS_COUNT(cs_bindings);

/* ---- objects ---- */

static const char *const kinds[] = {CS_OBJECT_CHECKPOINT, CS_OBJECT_EXPECTED, CS_OBJECT_MODEL, CS_OBJECT_MODULE,
                                    CS_OBJECT_PLAN,       CS_OBJECT_SCENARIO, CS_OBJECT_STEP};

void cs_object_push(lua_State *L, const char *kind, const void *description) {
    memcpy(lua_newuserdatauv(L, sizeof description, 0), &description, sizeof description);
    luaL_setmetatable(L, kind);
}

const void *cs_object_test(lua_State *L, int index, const char *kind) {
    const void *description = NULL, *block = luaL_testudata(L, index, kind);
    if (block) memcpy(&description, block, sizeof description);
    return description;
}

const char *cs_object_kind(lua_State *L, int index) {
    for (size_t i = 0; i < CS_COUNT(kinds); i++)
        if (luaL_testudata(L, index, kinds[i])) return kinds[i];
    return NULL;
}

/* Metatables are locked: a script can neither read nor change one. */
static void make_kinds(lua_State *L) {
    for (size_t i = 0; i < CS_COUNT(kinds); i++) {
        luaL_newmetatable(L, kinds[i]);
        lua_pushboolean(L, false);
        lua_setfield(L, -2, "__metatable");
        lua_pop(L, 1);
    }
}

/* Sets the functions that begin with `prefix` in the table on top of the stack. */
static void set_functions(lua_State *L, const char *prefix) {
    size_t n = strlen(prefix);
    for (size_t i = 0; i < cs_n_bindings; i++) {
        if (strncmp(cs_bindings[i].name, prefix, n) != 0) continue;
        lua_pushcfunction(L, cs_bindings[i].function);
        lua_setfield(L, -2, cs_bindings[i].name + n);
    }
}

/* __index of `cs` and `s`: a name that is not there. Upvalue 1: what to call the table, such as "cs.". */
static int unknown_function(lua_State *L) {
    const char *prefix = lua_tostring(L, lua_upvalueindex(1)), *names[CS_COUNT(cs_bindings)];
    const char *name = luaL_tolstring(L, 2, NULL);
    size_t n = 0;
    for (size_t i = 0; i < cs_n_bindings; i++)
        if (strncmp(cs_bindings[i].name, prefix, strlen(prefix)) == 0)
            names[n++] = cs_bindings[i].name + strlen(prefix);
    const char *nearest = cs_text_nearest(name, names, n);
    cs_script_push_place(L, 0);
    if (nearest)
        lua_pushfstring(L, "%s%s: no such function, did you mean %s%s?", prefix, name, prefix, nearest);
    else
        lua_pushfstring(L, "%s%s: no such function", prefix, name);
    lua_concat(L, 2);
    return lua_error(L);
}

/* Pushes a function that looks up table[key] in upvalue 2, then fails. */
static int lookup(lua_State *L) {
    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) return 1;
    lua_settop(L, 2);
    return unknown_function(L);
}

static void push_lookup(lua_State *L, const char *prefix) {
    lua_pushstring(L, prefix);
    lua_newtable(L);
    set_functions(L, prefix);
    lua_pushcclosure(L, lookup, 2);
}

void cs_bindings_open(lua_State *L) {
    make_kinds(L);
    luaL_getmetatable(L, CS_OBJECT_PLAN);
    push_lookup(L, "s:");
    lua_setfield(L, -2, "__index");
    lua_newtable(L); /* cs is empty, so that its metatable sees every name */
    lua_newtable(L);
    push_lookup(L, "cs.");
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_setglobal(L, "cs");
    lua_pop(L, 1);
}
