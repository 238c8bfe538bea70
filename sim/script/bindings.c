/* The functions of the language, and the objects that they pass around. */
#include <string.h>

#include "sim/script/internal.h"

#define OPTIONS "table<string, cs.Option|number|boolean|string>"

/* clang-format off */ /* it would write a line for each member */
const struct cs_binding cs_bindings[] = {
    {"cs.backend", cs_script_backend, &cs_record_backend, {{0}}, "cs.OwnBackend",
     "a back end of the scenario's own: what it rounds sizes to, and its post-load"},
    {"cs.cache", cs_script_cache, NULL, {{"path", "string"}, {"value", "number"}}, "cs.Step",
     "the module owns a workspace or an index cache at this path, written once, by the first post-load"},
    {"cs.call", cs_script_call, NULL, {{"table", "cs.Table"}}, "cs.Step",
     "the steps of a function of the engine's: `coldstart list tables`; values have the names that it gives them"},
    {"cs.cast", cs_script_cast, NULL, {{"param", "string"}, {"dtype", "cs.Dtype"}}, "cs.Step",
     "the value, converted"},
    {"cs.closure", cs_script_closure, NULL, {{"name", "string"}, {"value", "string"}, {"made?", "\"anew\"|\"once\"|\"in_place\""}}, "cs.Step",
     "like `cs.derived`, but a closure holds it: kernels read it, and nobody can walk to it"},
    {"cs.config", cs_script_config, NULL, {{"path", "string"}, {"param", "string"}}, "cs.Step",
     "the quant config holds the parameter at this path"},
    {"cs.constant", cs_script_constant, NULL, {{"path", "string"}, {"value", "number"}}, "cs.Step",
     "the experts object owns a constant at this path, made anew each time"},
    {"cs.declare", cs_script_declare, &cs_record_option, {{"options", OPTIONS}}, "table<string, any>",
     "options of this file that `--set NAME=VALUE` may change, and the values that they have now; once in a file"},
    {"cs.derived", cs_script_derived, NULL, {{"path", "string"}, {"value", "string"}, {"made?", "\"anew\"|\"once\"|\"in_place\""}}, "cs.Step",
     "an object owns a copy of the value at this path (`kernel.scale`, `cache[0]`): anew at each post-load, once, or once and then written in place"},
    {"cs.empty", cs_script_empty, NULL, {{"param", "string"}}, "cs.Step",
     "no kernel reads the parameter any more: it stays registered, and its storage is freed"},
    {"cs.equal", cs_script_equal, NULL, {{0}}, "cs.Expectation",
     "every channel equals the cold start, and nothing by luck"},
    {"cs.folder", cs_script_folder_checkpoint, NULL, {{"path", "string"}}, "cs.Checkpoint",
     "safetensors: a file, or a folder with an index or one file; relative to the scenario's file"},
    {"cs.layout", cs_script_layout, &cs_record_layout, {{0}}, "cs.OwnLayout",
     "a layout of the scenario's own, for `cs.relayout`"},
    {"cs.loader", cs_script_loader, &cs_record_loader, {{0}}, "cs.OwnLoader",
     "a loader of the scenario's own: which tensors go where"},
    {"cs.map", cs_script_map, NULL, {{"value", "string"}, {"dtype", "cs.Dtype"}, {"program", "string"}, {"shape?", "string"}}, "cs.Step",
     "the program's result: \"w13_weight * w13_scale as bf16\", from left to right"},
    {"cs.maximum", cs_script_maximum, NULL, {{"value", "string"}, {"dtype", "cs.Dtype"}, {"shape", "string"}, {"program", "string"}}, "cs.Step",
     "the largest results of a program: of shape \"x.0 x.1/128\", one for each row of `x` and 128 columns"},
    {"cs.method", cs_script_method, &cs_record_method, {{0}}, "cs.OwnMethod",
     "a quantization method of the scenario's own: parameters, loaders, and the post-load of its back end"},
    {"cs.model", cs_script_model, &cs_record_model, {{0}}, "cs.Model",
     "a model of decoder layers"},
    {"cs.module", cs_script_module, &cs_record_module, {{0}}, "cs.Module",
     "a module of `cs.model`, outside the decoder layers or in each of them"},
    {"cs.options", cs_script_options, NULL, {{"name", "string"}, {"given", "table?"}, {"defaults", "table"}}, "table",
     "for functions of `models/`: the defaults, overridden by what was given; a key that has no default is an error "
     "of whoever called the function `name`"},
    {"cs.pad", cs_script_pad, NULL, {{"param", "string"}, {"rows", "integer"}, {"columns", "integer"}, {"number?", "number"}, {"parts?", "\"whole\"|\"halves\""}}, "cs.Step",
     "rows and columns, its second and third dimension, rounded up to these multiples, filled with a number or 0; \"halves\": "
     "gate and up apart, where there are both"},
    {"cs.patched", cs_script_patched, NULL, {{"checkpoint", "string"}, {"tensor", "string"}, {"at", "integer|integer[]"}, {"number", "number"}}, "cs.Checkpoint",
     "a copy of the checkpoint of that name, in which one element of one tensor is another number; `at`: an index per dimension, from 0, or one 0 for a tensor that is a number"},
    {"cs.pattern", cs_script_pattern, NULL, {{"version", "integer"}, {"intermediate?", "integer"}}, "cs.Checkpoint",
     "the numbers of the captured reloads in `tests/golden`; of experts of another intermediate size than the model's"},
    {"cs.perturbed", cs_script_perturbed, NULL, {{"checkpoint", "string"}, {"version?", "integer"}}, "cs.Checkpoint",
     "a copy of the checkpoint of that name, version 1 to 7, that differs from it and from other versions in every "
     "element"},
    {"cs.refused", cs_script_refused, NULL, {{"text?", "string"}}, "cs.Expectation",
     "the load before was refused, as the real engine refuses it, with this text in the reason"},
    {"cs.relayout", cs_script_relayout, NULL, {{"param", "string"}, {"...", "cs.Layout|cs.OwnLayout"}}, "cs.Step",
     "the value through a chain of up to four layouts: `coldstart list layouts`, or `cs.layout`"},
    {"cs.replace", cs_script_replace, NULL, {{"param", "string"}}, "cs.Step",
     "the parameter becomes the value"},
    {"cs.reshape", cs_script_reshape, NULL, {{"param", "string"}, {"shape", "string"}}, "cs.Step",
     "the same bytes with the shape \"w.0*w.1 -1\", in extents of values"},
    {"cs.scenario", cs_script_scenario, &cs_record_scenario, {{0}}, "cs.Scenario",
     "what a file returns"},
    {"cs.select", cs_script_select, NULL, {{"value", "string"}, {"param", "string"}, {"dimension", "integer"}, {"index", "integer"}}, "cs.Step",
     "a new value: one index of a dimension of another, the same bytes"},
    {"cs.synthetic", cs_script_synthetic, NULL, {{0}}, "cs.Checkpoint",
     "numbers computed from seed, tensor name and index"},
    {"cs.take", cs_script_take, NULL, {{"value", "string"}, {"param", "string"}}, "cs.Step",
     "a new value: another, the same bytes"},
    {"cs.toy", cs_script_toy, &cs_record_toy, {{0}}, "cs.Model",
     "a model of one module whose loader calls are spelled out"},
    {"cs.transpose", cs_script_transpose, NULL, {{"param", "string"}}, "cs.Step",
     "its last two dimensions exchanged, the same bytes"},
    {"cs.update", cs_script_update, NULL, {{"param", "string"}, {"program", "string"}}, "cs.Step",
     "the program's result, in place"},
    {"cs.undetermined", cs_script_undetermined, NULL, {{0}}, "cs.Expectation",
     "the cold start itself depends on what undefined memory held: there is nothing to be equal to"},
    {"cs.view", cs_script_view, NULL, {{"param", "string"}, {"dtype", "cs.Dtype"}}, "cs.Step",
     "the same bytes as another dtype"},
    {"cs.without_optional", cs_script_without_optional, NULL, {{0}}, "cs.Checkpoint",
     "the numbers of `cs.synthetic`, without the tensors that a checkpoint may do without: KV-cache scales"},
    {"s:capture", cs_script_capture, NULL, {{0}}, NULL,
     "captures graphs anew, of the server as it is now: from here on `graph_differ` is about what they read"},
    {"s:cold_start", cs_script_cold_start, &cs_record_cold_start, {{"checkpoint", "string|cs.ColdStart"}}, NULL,
     "starts the server; once, first"},
    {"s:expect", cs_script_expect, &cs_record_expected, {{"expectation", "cs.Expectation|cs.Expected"}}, NULL,
     "compares the server with a fresh cold start of the checkpoint that it should hold now"},
    {"s:reload", cs_script_reload, &cs_record_reload, {{0}}, NULL,
     "loads another checkpoint into the running server"},
    {"s:sleep", cs_script_sleep, NULL, {{"level", "integer"}}, NULL,
     "gives the memory of weights back; level 1 keeps their bytes on the host, level 2 only those of buffers"},
    {"s:wake", cs_script_wake, NULL, {{0}}, NULL,
     "maps the memory again at the same addresses; after level 2 it holds anything"},
};
const size_t cs_n_bindings = CS_COUNT(cs_bindings);
/* clang-format on */

/* ---- objects ---- */

static const struct {
    const char *kind, *class;
} kinds[] = {
    {CS_OBJECT_BACKEND, "cs.OwnBackend"},
    {CS_OBJECT_CHECKPOINT, "cs.Checkpoint"},
    {CS_OBJECT_EXPECTED, "cs.Expectation"},
    {CS_OBJECT_LAYOUT, "cs.OwnLayout"},
    {CS_OBJECT_LOADER, "cs.OwnLoader"},
    {CS_OBJECT_METHOD, "cs.OwnMethod"},
    {CS_OBJECT_MODEL, "cs.Model"},
    {CS_OBJECT_MODULE, "cs.Module"},
    {CS_OBJECT_PLAN, "cs.Server"},
    {CS_OBJECT_SCENARIO, "cs.Scenario"},
    {CS_OBJECT_STEP, "cs.Step"},
};

const char *cs_object_class(const char *kind) {
    for (size_t i = 0; i < CS_COUNT(kinds); i++)
        if (cs_text_equal(kinds[i].kind, kind)) return kinds[i].class;
    return NULL;
}

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
        if (luaL_testudata(L, index, kinds[i].kind)) return kinds[i].kind;
    return NULL;
}

/* Metatables are locked: a script can neither read nor change one. */
static void make_kinds(lua_State *L) {
    for (size_t i = 0; i < CS_COUNT(kinds); i++) {
        luaL_newmetatable(L, kinds[i].kind);
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
