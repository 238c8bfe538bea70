/* cs.model, cs.module and post-load steps. */
#include <string.h>

#include "sim/script/fields.h"

enum { MOST_LAYERS = 10000, MOST_EXPERTS = 1 << 16, MOST_HIDDEN = 1 << 24 };

/* ---- tensors ---- */

void cs_read_dtype(const struct cs_value *value, void *structure) {
    ((struct cs_template_tensor *)structure)->dtype = cs_value_dtype(value);
}

void cs_read_created(const struct cs_value *value, void *structure) {
    static const char *const names[] = {
#define X(id, name) name,
        CS_INITS(X)
#undef X
    };
    ((struct cs_template_tensor *)structure)->init = (enum cs_init)cs_value_word(value, names, CS_COUNT(names));
}

void cs_check_tensor(const struct cs_value *value, void *structure) {
    const struct cs_template_tensor *tensor = structure;
    bool wants_value = tensor->init == CS_INIT_VALUE;
    struct cs_value field, late;
    cs_value_field(value, "late", &late);
    if (tensor->is_late && tensor->is_unregistered) cs_value_fail(&late, "nothing beside registered = false");
    lua_pop(value->L, 1);
    bool has_value = cs_value_field(value, "value", &field);
    if (wants_value && !has_value) cs_value_fail(&field, "a number, since created = \"value\"");
    if (!wants_value && has_value) cs_value_fail(&field, "nothing, unless created = \"value\"");
    lua_pop(value->L, 1);
}

/* Pushes one extent after those before it. */
static void push_extent(const struct cs_value *value, const char *before) {
    const char *space = *before ? " " : "";
    if (cs_value_is(value, LUA_TSTRING))
        lua_pushfstring(value->L, "%s%s%s", before, space, cs_value_text(value));
    else if (cs_value_is(value, LUA_TNUMBER))
        lua_pushfstring(value->L, "%s%s%I", before, space, (LUAI_UACINT)cs_value_integer(value, 0, INT64_MAX));
    else
        cs_value_fail(value, "an extent such as 8 or \"2*I\"");
}

/* "E", 8 or { "E", 2, "H" } → "E 2 H", the notation of methods. */
const char *cs_value_shape(const struct cs_value *value, size_t least) {
    lua_State *L = value->L;
    bool is_list = cs_value_is(value, LUA_TTABLE);
    size_t n = is_list ? cs_value_list(value) : 1;
    if (n < least || n > CS_NDIM) cs_value_refuse(value, "found %zu extents, expected %zu to %d", n, least, CS_NDIM);
    int top = lua_gettop(L);
    const char *text = "";
    for (size_t i = 0; i < n; i++) {
        struct cs_value item = is_list ? cs_value_item(value, (lua_Integer)i + 1) : *value;
        push_extent(&item, text);
        text = cs_script_copy(L, lua_tostring(L, -1));
        lua_settop(L, top);
    }
    return text;
}

static void read_shape(const struct cs_value *value, void *structure) {
    ((struct cs_template_tensor *)structure)->shape = cs_value_shape(value, 1);
}

static void read_kind(const struct cs_value *value, void *structure) {
    static const char *const names[] = {"parameter", "buffer", "persistent_buffer"};
    static const enum cs_tensor_kind kinds[] = {CS_PARAMETER, CS_BUFFER, CS_PERSISTENT_BUFFER};
    ((struct cs_template_tensor *)structure)->kind = kinds[cs_value_word(value, names, CS_COUNT(names))];
}

static const struct cs_field tensor_fields[] = {
    CS_TENSOR_ROWS,
    {CS_CUSTOM_ROW(
         "shape", read_shape, "integer|string|(integer|string)[]",
         "an extent or a list of them: numbers, or `E` `H` `I` (experts of the rank; sizes after rounding), "
         "`Eg` (experts of all ranks), `Hu` `Iu` (before rounding), `If` (before sharding), joined by `*` and "
         "`/`"),
     CS_REQUIRED_AS("a shape such as \"H\" or { \"E\", 8 }")},
    {CS_CUSTOM_ROW("kind", read_kind, "\"parameter\"|\"buffer\"|\"persistent_buffer\"",
                   "what the module registers it as"),
     CS_DEFAULT("`\"parameter\"`")},
    {CS_TEXT_ROW("tied", struct cs_template_tensor, tied,
                 "`module.name` of an earlier module's parameter, in the model as in the checkpoint: the same object"),
     CS_DEFAULT("an object of its own")},
};
static const struct cs_record tensor_record =
    CS_RECORD("cs.Tensor", tensor_fields, struct cs_template_tensor, cs_check_tensor);

/* ---- modules ---- */

#define MODULE struct cs_module_template

/* { gate_proj = "w1" } */
static void read_names(const struct cs_value *value, void *structure) {
    MODULE *module = structure;
    const char *const *words = cs_value_keys(value, &module->n_renames);
    struct cs_rename *renames = CS_SCRIPT_NEW(value->L, struct cs_rename, module->n_renames);
    for (size_t i = 0; i < module->n_renames; i++) {
        struct cs_value name;
        cs_value_field(value, words[i], &name);
        renames[i] = (struct cs_rename){.word = words[i], .name = cs_value_text(&name)};
        if (!*renames[i].name || strchr(renames[i].name, '.')) cs_value_fail(&name, "a word without dots");
        lua_pop(value->L, 1);
    }
    module->renames = renames;
}

/* Numbers that copies convert, of the widths that checkpoints have. */
static enum cs_dtype read_stored_dtype(const struct cs_value *value) {
    static const char *const names[] = {"f32", "bf16", "f16"};
    static const enum cs_dtype dtypes[] = {CS_F32, CS_BF16, CS_F16};
    enum cs_dtype dtype; /* safetensors' and torch's names are as good */
    bool is_dtype = cs_value_is(value, LUA_TSTRING) && cs_dtype_parse(cs_value_text(value), &dtype) == CS_OK;
    for (size_t i = 0; is_dtype && i < CS_COUNT(dtypes); i++)
        if (dtypes[i] == dtype) return dtype;
    if (is_dtype) cs_value_fail(value, "\"f32\", \"bf16\" or \"f16\"");
    return dtypes[cs_value_word(value, names, CS_COUNT(names))];
}

/* { weight = "bf16" } */
static void read_dtypes(const struct cs_value *value, void *structure) {
    MODULE *module = structure;
    const char *const *words = cs_value_keys(value, &module->n_stored);
    struct cs_stored *stored = CS_SCRIPT_NEW(value->L, struct cs_stored, module->n_stored);
    for (size_t i = 0; i < module->n_stored; i++) {
        struct cs_value dtype;
        cs_value_field(value, words[i], &dtype);
        stored[i] = (struct cs_stored){.word = words[i], .dtype = read_stored_dtype(&dtype)};
        lua_pop(value->L, 1);
    }
    module->stored = stored;
}

static void check_module(const struct cs_value *value, void *structure) {
    const MODULE *module = structure;
    struct cs_value tensors, checkpoint, names, first_layer;
    cs_value_field(value, "tensors", &tensors);
    cs_value_field(value, "checkpoint", &checkpoint);
    bool has_names = cs_value_field(value, "names", &names);
    cs_value_field(value, "first_layer", &first_layer);
    bool has_own = module->is_routed_experts || module->is_attention;
    if (module->is_routed_experts && module->is_attention)
        cs_value_refuse(value, "found attention beside routed_experts, expected one of them");
    if (module->is_attention && module->n_tensors)
        cs_value_fail(&tensors, "nothing: an attention layer has the tensors of its KV-cache scales");
    if (!has_own && module->n_tensors == 0) cs_value_fail(&tensors, "a list of at least one tensor");
    if (module->is_routed_experts && module->n_tensors)
        cs_value_fail(&tensors, "nothing: the method makes the tensors of routed experts");
    if (module->is_routed_experts && !module->checkpoint)
        cs_value_fail(&checkpoint, "the experts' name in checkpoints, such as \"layers.{layer}.mlp.experts\"");
    if (has_names && !module->is_routed_experts) cs_value_fail(&names, "nothing, unless routed_experts = true");
    if (module->first_layer && !strstr(module->name, "{layer}"))
        cs_value_fail(&first_layer, "nothing, unless the name has {layer} in it");
    lua_pop(value->L, 4);
}

static const struct cs_field module_fields[] = {
    {CS_TEXT_ROW("name", MODULE, name, "with `{layer}` in it: one module in each decoder layer"), CS_REQUIRED},
    {CS_RECORDS_ROW("tensors", MODULE, tensors, n_tensors, &tensor_record, "its parameters and buffers"),
     CS_DEFAULT("required, but for routed experts")},
    {CS_FLAG_ROW("attention", MODULE, is_attention,
                 "`true`: its tensors are those of KV-cache scales; a checkpoint may do without them"),
     CS_DEFAULT("`false`")},
    {CS_FLAG_ROW("routed_experts", MODULE, is_routed_experts, "`true`: the method makes its tensors"),
     CS_DEFAULT("`false`")},
    {CS_TEXT_ROW("checkpoint", MODULE, checkpoint, "its name in checkpoints"),
     CS_DEFAULT("`name`; required for routed experts")},
    {CS_INTEGER_ROW("first_layer", MODULE, first_layer, 0, MOST_LAYERS, "the first decoder layer that has it"),
     CS_DEFAULT("0")},
    {CS_CUSTOM_ROW("names", read_names, "table<string, string>",
                   "routed experts: what the checkpoint calls words of the loader's names, as "
                   "`{ gate_proj = \"w1\" }`"),
     CS_DEFAULT("`{}`")},
    {CS_CUSTOM_ROW("dtypes", read_dtypes, "table<string, \"f32\"|\"bf16\"|\"f16\">",
                   "what checkpoints store tensors as where engines keep other numbers, as `{ weight = \"bf16\" }`: by "
                   "their names in `tensors`, of routed experts by the last word of the loader's names"),
     CS_DEFAULT("`{}`: the model's")},
};
const struct cs_record cs_record_module = CS_RECORD("cs.Module.Fields", module_fields, MODULE, check_module);

int cs_script_module(lua_State *L) {
    struct cs_value argument = cs_value_argument(L, 1, "cs.module");
    MODULE *module = CS_SCRIPT_NEW(L, MODULE, 1);
    cs_value_record(&argument, &cs_record_module, module);
    cs_object_push(L, CS_OBJECT_MODULE, module);
    return 1;
}

/* ---- models ---- */

#define MODEL struct cs_model_config

static void check_model(const struct cs_value *value, void *structure) {
    const MODEL *model = structure;
    struct cs_value modules;
    cs_value_field(value, "modules", &modules);
    if (model->n_templates == 0) cs_value_refuse(&modules, "found an empty list, expected at least one module");
    for (size_t i = 0; i < model->n_templates; i++)
        if (model->templates[i].first_layer >= model->layers)
            cs_value_refuse(&modules, "module %s begins in layer %" PRId64 ", but there are %" PRId64 " layers",
                            model->templates[i].name, model->templates[i].first_layer, model->layers);
    lua_pop(value->L, 1);
}

static const struct cs_field model_fields[] = {
    {CS_TEXT_ROW("name", MODEL, name, "for reports"), CS_REQUIRED},
    {CS_INTEGER_ROW("layers", MODEL, layers, 1, MOST_LAYERS, "decoder layers"), CS_REQUIRED},
    {CS_INTEGER_ROW("experts", MODEL, experts, 0, MOST_EXPERTS, "routed experts of a layer"), CS_DEFAULT("0")},
    {CS_INTEGER_ROW("hidden", MODEL, hidden, 1, MOST_HIDDEN, "hidden size"), CS_REQUIRED},
    {CS_INTEGER_ROW("intermediate", MODEL, intermediate, 0, MOST_HIDDEN, "intermediate size of an expert"),
     CS_DEFAULT("0")},
    {CS_TEXT_ROW("prefix", MODEL, prefix, "what module and checkpoint names begin with"), CS_DEFAULT("`\"\"`")},
    {CS_OBJECTS_ROW("modules", MODEL, templates, n_templates, CS_OBJECT_MODULE, &cs_record_module,
                    "what it is made of, in order: `cs.module`"),
     CS_REQUIRED},
    {CS_TEXTS_ROW("not_simulated", MODEL, not_simulated, n_not_simulated,
                  "patterns of checkpoint names that are counted and skipped; `*` matches any run of characters"),
     CS_DEFAULT("`{}`")},
};
const struct cs_record cs_record_model = CS_RECORD("cs.Model.Fields", model_fields, MODEL, check_model);

int cs_script_model(lua_State *L) {
    struct cs_value argument = cs_value_argument(L, 1, "cs.model");
    MODEL *model = CS_SCRIPT_NEW(L, MODEL, 1);
    model->prefix = "";
    cs_value_record(&argument, &cs_record_model, model);
    cs_object_push(L, CS_OBJECT_MODEL, model);
    return 1;
}
