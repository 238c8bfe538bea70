/* What cs.scenario says of its routed experts: method, back end, loader, and how layers are configured. */
#include <string.h>

#include "sim/script/own.h"

#define SCENARIO struct cs_scenario
#define LAYER    struct cs_layer_settings

/* ---- names, or objects of the scenario's own ---- */

void cs_scenario_own_loader(lua_State *L, struct cs_scenario *scenario, const struct cs_loader *loader) {
    for (size_t i = 0; i < scenario->n_own_loaders; i++)
        if (scenario->own_loaders[i] == loader) return;
    size_t n = scenario->n_own_loaders;
    const struct cs_loader **wider = CS_SCRIPT_NEW(L, const struct cs_loader *, n + 1);
    if (n) memcpy(wider, scenario->own_loaders, n * sizeof *wider);
    wider[n] = loader;
    scenario->own_loaders = wider;
    scenario->n_own_loaders = n + 1;
}

/* The description when the value is an object of that kind; else its text becomes `*name`. */
static const void *read_either(const struct cs_value *value, const char *kind, const char *what, const char **name) {
    const void *object = cs_object_test(value->L, value->at, kind);
    if (object) return object;
    if (!cs_value_is(value, LUA_TSTRING)) cs_value_fail(value, "%s", what);
    *name = cs_value_text(value);
    return NULL;
}

void cs_read_method(const struct cs_value *value, void *structure) {
    SCENARIO *scenario = structure;
    const struct cs_own_method *own =
        read_either(value, CS_OBJECT_METHOD, "a method's name, or cs.method { … }", &scenario->method);
    if (!own) return;
    scenario->own_method = &own->method;
    scenario->method = own->method.name;
    scenario->own_backend = own->backend; /* unless `backend`, which is read later, says another */
    scenario->backend = own->backend->name;
    for (size_t i = 0; i < own->n_loaders; i++) cs_scenario_own_loader(value->L, scenario, own->loaders[i]);
}

void cs_read_backend(const struct cs_value *value, void *structure) {
    SCENARIO *scenario = structure;
    const struct cs_backend *own =
        read_either(value, CS_OBJECT_BACKEND, "a back end's name, or cs.backend { … }", &scenario->backend);
    scenario->own_backend = own;
    if (own) scenario->backend = own->name;
}

void cs_scenario_own_backend(lua_State *L, struct cs_scenario *scenario) {
    if (!scenario->own_backend || !scenario->method) return;
    struct cs_backend *backend = CS_SCRIPT_NEW(L, struct cs_backend, 1), made = *scenario->own_backend;
    made.method = scenario->method;
    memcpy(backend, &made, sizeof made);
    scenario->own_backend = backend;
}

const char *cs_value_loader(const struct cs_value *value, const struct cs_loader **own) {
    const char *name = NULL;
    *own = read_either(value, CS_OBJECT_LOADER, "a loader's name, or cs.loader { … }", &name);
    return *own ? (*own)->name : name;
}

void cs_read_loader(const struct cs_value *value, void *structure) {
    SCENARIO *scenario = structure;
    const struct cs_loader *own;
    scenario->loader = cs_value_loader(value, &own);
    if (own) cs_scenario_own_loader(value->L, scenario, own);
}

/* ---- settings ---- */

static void read_option(const struct cs_value *value, LAYER *layer, unsigned option, bool is_inverse) {
    if (cs_value_flag(value) != is_inverse)
        layer->on |= option;
    else
        layer->off |= option;
}

#define OPTION_READER(name, option, is_inverse)                                                                        \
    static void name(const struct cs_value *value, void *layer) { read_option(value, layer, option, is_inverse); }
OPTION_READER(read_bias, CS_WITH_BIAS, false)
OPTION_READER(read_gated, CS_NOT_GATED, true)
OPTION_READER(read_lora, CS_WITH_LORA, false)
OPTION_READER(read_static_input, CS_STATIC_INPUT, false)
OPTION_READER(read_asymmetric, CS_ASYMMETRIC, false)
OPTION_READER(read_per_channel, CS_PER_CHANNEL, false)
OPTION_READER(read_act_order, CS_ACT_ORDER, false)

static void read_bits(const struct cs_value *value, void *structure) {
    int64_t bits = cs_value_integer(value, 4, 8);
    if (bits != 4 && bits != 6 && bits != 8) cs_value_fail(value, "4, 6 or 8");
    ((LAYER *)structure)->bits = (int)bits;
}

enum { MOST_GROUP = 1 << 20 };

static void read_block(const struct cs_value *value, void *structure) {
    LAYER *layer = structure;
    struct cs_extents extents = {0};
    cs_value_extents(value, &extents);
    if (extents.ndim > 2) cs_value_refuse(value, "found %d numbers, expected rows and columns", extents.ndim);
    for (int i = 0; i < 2; i++) {
        layer->block[i] = extents.items[extents.ndim == 1 ? 0 : i];
        if (layer->block[i] < 1 || layer->block[i] > MOST_GROUP)
            cs_value_fail(value, "extents from 1 to %d", MOST_GROUP);
    }
}

static void read_arithmetic(const struct cs_value *value, void *structure) {
    static const char *const names[] = {"cuda", "cpu"};
    bool is_cpu = cs_value_word(value, names, CS_COUNT(names)) == 1;
    ((LAYER *)structure)->on |= is_cpu ? CS_CPU_ARITHMETIC : 0;
}

/* clang-format off */
static const struct cs_field quantization_fields[] = {
    {CS_CUSTOM_ROW("bits", read_bits, "4|6|8", "of a weight"), CS_DEFAULT("the method's")},
    {CS_INTEGER_ROW("group", LAYER, group, 1, MOST_GROUP, "elements along K with one scale"), CS_DEFAULT("the method's")},
    {CS_CUSTOM_ROW("block", read_block, "integer|integer[]", "rows and columns with one scale"), CS_DEFAULT("the method's")},
    {CS_CUSTOM_ROW("per_channel", read_per_channel, "boolean", "`true`: one group spans K"), CS_DEFAULT("`false`")},
    {CS_CUSTOM_ROW("asymmetric", read_asymmetric, "boolean", "`true`: with zero points"), CS_DEFAULT("`false`")},
    {CS_CUSTOM_ROW("act_order", read_act_order, "boolean", "`true`: GPTQ's desc_act"), CS_DEFAULT("`false`")},
    {CS_CUSTOM_ROW("static_input", read_static_input, "boolean", "`true`: the checkpoint has activation scales"), CS_DEFAULT("the method's")},
    {CS_CUSTOM_ROW("arithmetic", read_arithmetic, "\"cuda\"|\"cpu\"", "as which post-load computes: where torch divides on a CPU, CUDA multiplies by the reciprocal"), CS_DEFAULT("`\"cuda\"`")},
};
/* clang-format on */
const struct cs_record cs_record_quantization = CS_RECORD("cs.Quantization", quantization_fields, LAYER, NULL);

void cs_read_quantization(const struct cs_value *value, struct cs_layer_settings *layer) {
    cs_value_record(value, &cs_record_quantization, layer);
}

void cs_read_scenario_quantization(const struct cs_value *value, void *scenario) {
    cs_read_quantization(value, &((SCENARIO *)scenario)->layer);
}

static void read_placement(const struct cs_value *value, void *structure) {
    static const char *const names[] = {"linear", "round_robin"};
    ((LAYER *)structure)->is_round_robin = cs_value_word(value, names, CS_COUNT(names)) == 1;
}

/* clang-format off */
static const struct cs_field experts_fields[] = {
    {CS_CUSTOM_ROW("bias", read_bias, "boolean", "`true`: experts have biases"), CS_DEFAULT("the method's")},
    {CS_CUSTOM_ROW("gated", read_gated, "boolean", "`false`: no gate projection, w13 is the up projection alone"), CS_DEFAULT("`true`")},
    {CS_CUSTOM_ROW("lora", read_lora, "boolean", "`true`: with LoRA"), CS_DEFAULT("`false`")},
    {CS_TEXT_ROW("activation", LAYER, activation, "the engine's name of it, where a rounding rule asks: `silu` …"), CS_DEFAULT("as gpt-oss says: none")},
    {CS_INTEGER_ROW("redundant", LAYER, redundant, 0, 1 << 16, "EPLB: physical experts beside the model's, copies of the first ones; refused for back ends that do not support it upstream"), CS_DEFAULT("0")},
    {CS_CUSTOM_ROW("placement", read_placement, "\"linear\"|\"round_robin\"", "of experts on ranks"), CS_DEFAULT("`\"linear\"`")},
};
/* clang-format on */
const struct cs_record cs_record_experts = CS_RECORD("cs.Experts", experts_fields, LAYER, NULL);

void cs_read_experts(const struct cs_value *value, void *scenario) {
    cs_value_record(value, &cs_record_experts, &((SCENARIO *)scenario)->layer);
}

void cs_read_all2all(const struct cs_value *value, void *scenario) {
    const char *names[CS_N_ALL2ALLS];
    for (int i = 0; i < CS_N_ALL2ALLS; i++) names[i] = cs_all2all_name((enum cs_all2all)i);
    ((SCENARIO *)scenario)->layer.all2all = (enum cs_all2all)cs_value_word(value, names, CS_N_ALL2ALLS);
}

void cs_read_platform(const struct cs_value *value, void *scenario) {
    const char *names[CS_N_PLATFORMS];
    for (int i = 0; i < CS_N_PLATFORMS; i++) names[i] = cs_platform_name((enum cs_platform)i);
    ((SCENARIO *)scenario)->layer.platform = (enum cs_platform)cs_value_word(value, names, CS_N_PLATFORMS);
}

void cs_read_chosen_by(const struct cs_value *value, void *scenario) {
    static const char *const names[] = {"user", "engine"};
    ((SCENARIO *)scenario)->layer.is_chosen_by_engine = cs_value_word(value, names, CS_COUNT(names)) == 1;
}
