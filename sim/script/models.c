/* What a file of models/ has: its functions, called without options. */
#include "sim/script/arguments.h"

static int call_functions(lua_State *L) {
    struct cs_script *script = cs_script_of(L);
    cs_sandbox_open(L);
    cs_bindings_open(L);
    cs_script_push_file(L, NULL, script->path);
    lua_call(L, 0, 1);
    struct cs_value table = cs_value_argument(L, 1, script->path);
    const char *const *names = cs_value_keys(&table, &script->n_models);
    script->models = CS_SCRIPT_NEW(L, struct cs_listed_model, script->n_models);
    for (size_t i = 0; i < script->n_models; i++) {
        struct cs_value function;
        cs_value_field(&table, names[i], &function);
        if (!cs_value_is(&function, LUA_TFUNCTION)) cs_value_fail(&function, "a function that gives a model");
        lua_call(L, 0, 1);
        const struct cs_model_config *model = cs_object_test(L, -1, CS_OBJECT_MODEL);
        if (!model) return luaL_error(L, "%s: %s gives no model", script->path, names[i]);
        script->models[i] = (struct cs_listed_model){.function = names[i], .model = model};
        lua_settop(L, 1);
    }
    return 0;
}

enum cs_status cs_script_models(const char *path, struct cs_arena *arena, struct cs_listed_model **models, size_t *n) {
    struct cs_script script = {0};
    CS_TRY(cs_script_run(&script, path, arena, call_functions));
    *models = script.models;
    *n = script.n_models;
    return CS_OK;
}
