/* The axes of a plan, and what each value means. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/fuzz/internal.h"

static const int64_t layer_counts[] = {1, 2}, expert_counts[] = {1, 2, 3, 4}, hidden_sizes[] = {64, 96, 128, 224, 256},
                     intermediate_sizes[] = {64, 96, 128, 192, 256};

static const struct cs_fuzz_ranks ranks[] = {
    {"tp1", 1, 1}, {"tp2", 2, 1}, {"tp4", 4, 1}, {"ep2", 1, 2}, {"ep3", 1, 3}, {"tp2ep2", 2, 2},
};

static const char *const roundings[] = {"released", "reference"}, *const arrivals[] = {"file", "modules"},
                         *const engines[] = {"released", "repaired"};

/* ---- experts of a layer ---- */

static const struct layer {
    const char *name;
    struct cs_layer_settings settings;
} layers[] = {
    {"usual", {0}},
    {"biases", {.on = CS_WITH_BIAS}},
    {"redundant", {.redundant = 2}},
    {"round_robin", {.is_round_robin = true}},
    {"deepep", {.all2all = CS_ALL2ALL_DEEPEP_HT}},
    {"asymmetric", {.on = CS_ASYMMETRIC}},
    {"per_channel", {.on = CS_PER_CHANNEL}},
    {"ungated", {.on = CS_NOT_GATED}},
    {"static_input", {.on = CS_STATIC_INPUT}},
};

/* ---- what stands beside the experts ---- */

static const struct cs_template_tensor norm[] = {
    {.name = "weight", .shape = "Hu", .dtype = CS_BF16, .init = CS_INIT_ONES},
};
static const struct cs_template_tensor router[] = {
    {.name = "weight", .shape = "Eg Hu", .dtype = CS_BF16, .init = CS_INIT_EMPTY},
    {.name = "bias", .shape = "Eg", .dtype = CS_BF16, .init = CS_INIT_EMPTY},
};
static const struct cs_template_tensor counted[] = {
    {.name = "weight", .shape = "Hu", .dtype = CS_F32, .init = CS_INIT_ZEROS},
    {.name = "seen", .shape = "8", .kind = CS_BUFFER, .dtype = CS_F32, .init = CS_INIT_ZEROS},
};

/* What a reload must leave alone, since no checkpoint has it, or bring back. */
static const struct cs_template_tensor kept[] = {
    {.name = "weight", .shape = "Hu", .dtype = CS_F32, .init = CS_INIT_EMPTY},
    {.name = "root_size", .shape = "1", .kind = CS_BUFFER, .dtype = CS_F32, .init = CS_INIT_VALUE, .init_value = 0.125},
    {.name = "scale", .shape = "2", .kind = CS_PERSISTENT_BUFFER, .dtype = CS_F32, .init = CS_INIT_VALUE, .init_value = 3},
    {.name = "_expert_map", .shape = "4", .kind = CS_BUFFER, .dtype = CS_I32, .init = CS_INIT_ARANGE},
};
/* One that is registered when the module's first tensor comes. */
static const struct cs_template_tensor late[] = {
    {.name = "weight", .shape = "Hu", .dtype = CS_BF16, .init = CS_INIT_EMPTY},
    {.name = "bias_late", .shape = "Hu", .dtype = CS_BF16, .init = CS_INIT_EMPTY, .is_late = true},
};
static const struct cs_template_tensor embedding[] = {
    {.name = "weight", .shape = "16 Hu", .dtype = CS_BF16, .init = CS_INIT_EMPTY},
};
static const struct cs_template_tensor head[] = {
    {.name = "weight", .shape = "16 Hu", .dtype = CS_BF16, .init = CS_INIT_EMPTY, .tied = "embed_tokens.weight"},
};

#define EXPERTS                                                                                                        \
    { .name = "layers.{layer}.mlp.experts.routed_experts", .is_routed_experts = true, .checkpoint = "layers.{layer}.mlp.experts" }
#define MODULE(path, rows)                                                                                             \
    { .name = path, .n_tensors = CS_COUNT(rows), .tensors = rows }

static const struct cs_module_template alone[] = {EXPERTS};
static const struct cs_module_template with_norm[] = {MODULE("layers.{layer}.norm", norm), EXPERTS};
static const struct cs_module_template with_router[] = {MODULE("layers.{layer}.mlp.router", router), EXPERTS,
                                                        MODULE("norm", norm)};
static const struct cs_module_template with_buffer[] = {EXPERTS, MODULE("layers.{layer}.gate", counted)};

static const struct cs_module_template with_kept[] = {EXPERTS, MODULE("layers.{layer}.gate", kept)};
static const struct cs_module_template with_late[] = {MODULE("layers.{layer}.proj", late), EXPERTS};
static const struct cs_module_template with_tie[] = {MODULE("embed_tokens", embedding), EXPERTS, MODULE("lm_head", head)};
static const struct cs_module_template with_attention[] = {{.name = "layers.{layer}.attn", .is_attention = true}, EXPERTS};

static const struct beside {
    const char *name;
    const struct cs_module_template *templates;
    size_t n;
} besides[] = {
    {"nothing", alone, CS_COUNT(alone)},
    {"norm", with_norm, CS_COUNT(with_norm)},
    {"router", with_router, CS_COUNT(with_router)},
    {"buffer", with_buffer, CS_COUNT(with_buffer)},
    {"kept", with_kept, CS_COUNT(with_kept)},
    {"late", with_late, CS_COUNT(with_late)},
    {"tie", with_tie, CS_COUNT(with_tie)},
    {"attention", with_attention, CS_COUNT(with_attention)},
};

/* ---- memory ---- */

#define BYTE(value)                                                                                                    \
    { .kind = CS_PATTERN_BYTE, .byte = value }

static const struct memory {
    const char *name;
    struct cs_allocator_rule rule;
} memories[] = {
    {"random", {{.kind = CS_PATTERN_RANDOM}, {.kind = CS_PATTERN_RANDOM}, .recycle_up_to = UINT64_MAX}},
    {"zero", {BYTE(0), BYTE(0), .recycle_up_to = 0}},
    {"bytes", {BYTE(0), BYTE(0xAA), .recycle_up_to = 0}},
    {"nan", {{.kind = CS_PATTERN_NAN}, {.kind = CS_PATTERN_NAN}, .recycle_up_to = 0}},
    {"own_bytes", {BYTE(0x55), BYTE(0x01), .recycle_up_to = UINT64_MAX, .recycled_keeps_bytes = true}},
    {"small_pool", {BYTE(0), BYTE(0), .recycle_up_to = 16 << 10}},
    {"classes",
     {BYTE(0), {.kind = CS_PATTERN_RANDOM}, .recycle_up_to = UINT64_MAX, .n_classes = 2, .class_limit = {1 << 10, 1 << 16}, .fresh_first = 1}},
};

/* ---- registries, less what cannot be chosen ---- */

enum { MOST = CS_AXIS_VALUES };

struct listing {
    size_t n;
    size_t index[MOST]; /* in the registry */
};

static bool is_loader_of(const struct cs_method *method, const char *loader) {
    for (const char *const *name = method->loaders; *name; name++)
        if (cs_text_equal(*name, loader)) return true;
    return false;
}

static bool is_backend_usable(size_t i) { return cs_backends[i].steps != NULL; }

static bool is_loader_usable(size_t i) {
    for (size_t b = 0; b < cs_n_backends; b++)
        if (is_backend_usable(b) && is_loader_of(cs_method_by_name(cs_backends[b].method), cs_loaders[i]->name))
            return true;
    return false;
}

static bool is_start(size_t i) { return cs_drivers[i]->is_start; }
static bool is_any(size_t i) {
    (void)i;
    return true;
}

static struct listing list(size_t n, bool (*is_listed)(size_t)) {
    struct listing made = {0};
    for (size_t i = 0; i < n && made.n < MOST; i++)
        if (is_listed(i)) made.index[made.n++] = i;
    return made;
}

static struct listing make_list(enum cs_axis_id id) {
    switch (id) {
    case CS_AXIS_backend: return list(cs_n_backends, is_backend_usable);
    case CS_AXIS_loader: return list(cs_n_loaders, is_loader_usable);
    case CS_AXIS_start: return list(cs_n_drivers, is_start);
    case CS_AXIS_policy: return list(cs_n_policies, is_any);
    case CS_AXIS_device: return list(cs_n_devices, is_any);
    default: return (struct listing){0};
    }
}

/* Registries do not change: each list is made once for each thread. */
static const struct listing *list_of(enum cs_axis_id id) {
    static _Thread_local struct listing lists[CS_N_AXES];
    if (!lists[id].n) lists[id] = make_list(id);
    return &lists[id];
}

static size_t index_of(const struct cs_fuzz_plan *plan, enum cs_axis_id id) {
    return list_of(id)->index[plan->axis[id]];
}

/* ---- what a plan's axes mean ---- */

static const struct numbers {
    const int64_t *values;
    size_t n;
} numbers[CS_N_AXES] = {
    [CS_AXIS_layers] = {layer_counts, CS_COUNT(layer_counts)},
    [CS_AXIS_experts] = {expert_counts, CS_COUNT(expert_counts)},
    [CS_AXIS_hidden] = {hidden_sizes, CS_COUNT(hidden_sizes)},
    [CS_AXIS_intermediate] = {intermediate_sizes, CS_COUNT(intermediate_sizes)},
};

int64_t cs_fuzz_number_of(const struct cs_fuzz_plan *plan, enum cs_axis_id id) { return numbers[id].values[plan->axis[id]]; }
const struct cs_fuzz_ranks *cs_fuzz_ranks_of(const struct cs_fuzz_plan *plan) { return &ranks[plan->axis[CS_AXIS_ranks]]; }
const struct cs_backend *cs_fuzz_backend_of(const struct cs_fuzz_plan *plan) {
    return &cs_backends[index_of(plan, CS_AXIS_backend)];
}
const struct cs_method *cs_fuzz_method_of(const struct cs_fuzz_plan *plan) {
    return cs_method_by_name(cs_fuzz_backend_of(plan)->method);
}
const struct cs_loader *cs_fuzz_loader_of(const struct cs_fuzz_plan *plan) {
    return cs_loaders[index_of(plan, CS_AXIS_loader)];
}
const char *cs_fuzz_policy_of(const struct cs_fuzz_plan *plan) { return cs_policies[index_of(plan, CS_AXIS_policy)].name; }
const struct cs_device *cs_fuzz_device_of(const struct cs_fuzz_plan *plan) {
    return cs_devices[index_of(plan, CS_AXIS_device)];
}
const struct cs_driver *cs_fuzz_start_of(const struct cs_fuzz_plan *plan) {
    return cs_drivers[index_of(plan, CS_AXIS_start)];
}

const char *cs_fuzz_beside_of(const struct cs_fuzz_plan *plan) { return besides[plan->axis[CS_AXIS_beside]].name; }
const struct cs_layer_settings *cs_fuzz_layer_of(const struct cs_fuzz_plan *plan) {
    return &layers[plan->axis[CS_AXIS_layer]].settings;
}
bool cs_fuzz_has_attention(const struct cs_fuzz_plan *plan) {
    return besides[plan->axis[CS_AXIS_beside]].templates == with_attention;
}
bool cs_fuzz_is_repaired(const struct cs_fuzz_plan *plan) { return plan->axis[CS_AXIS_engine] == 1; }
bool cs_fuzz_shuffles_modules(const struct cs_fuzz_plan *plan) { return plan->axis[CS_AXIS_arrival] == 1; }

cs_defect_set cs_fuzz_defects(const struct cs_fuzz_plan *plan, cs_defect_set switched_on) {
    cs_defect_set set = 0;
    for (int i = 0; i < CS_N_DEFECTS; i++) {
        if (switched_on >> i & 1)
            set = cs_defects_with(set, (enum cs_defect)i, true);
        else if (cs_fuzz_is_repaired(plan))
            set = cs_defects_with(set, (enum cs_defect)i, false);
    }
    return set;
}

void cs_fuzz_apply_axes(const struct cs_fuzz_plan *plan, struct cs_scenario *scenario) {
    const struct beside *beside = &besides[plan->axis[CS_AXIS_beside]];
    scenario->model = (struct cs_model_config){
        .name = "fuzzed",
        .prefix = "model.",
        .layers = cs_fuzz_number_of(plan, CS_AXIS_layers),
        .experts = cs_fuzz_number_of(plan, CS_AXIS_experts),
        .hidden = cs_fuzz_number_of(plan, CS_AXIS_hidden),
        .intermediate = cs_fuzz_number_of(plan, CS_AXIS_intermediate),
        .n_templates = beside->n,
        .templates = beside->templates,
    };
    scenario->layer = layers[plan->axis[CS_AXIS_layer]].settings;
    scenario->method = cs_fuzz_backend_of(plan)->method;
    scenario->backend = cs_fuzz_backend_of(plan)->name;
    scenario->loader = cs_fuzz_loader_of(plan)->name;
    scenario->rounding = roundings[plan->axis[CS_AXIS_rounding]];
    scenario->tp = cs_fuzz_ranks_of(plan)->tp;
    scenario->ep = cs_fuzz_ranks_of(plan)->ep;
    scenario->allocator = memories[plan->axis[CS_AXIS_allocator]].rule;
    scenario->seed = plan->seed;
    scenario->defects = cs_fuzz_defects(plan, 0);
}

/* ---- the table ---- */

static size_t count(enum cs_axis_id id) {
    switch (id) {
    case CS_AXIS_ranks: return CS_COUNT(ranks);
    case CS_AXIS_beside: return CS_COUNT(besides);
    case CS_AXIS_rounding: return CS_COUNT(roundings);
    case CS_AXIS_arrival: return CS_COUNT(arrivals);
    case CS_AXIS_engine: return CS_COUNT(engines);
    case CS_AXIS_layer: return CS_COUNT(layers);
    case CS_AXIS_allocator: return CS_COUNT(memories);
    default: return numbers[id].n ? numbers[id].n : list_of(id)->n;
    }
}

/* "gpt_oss_mxfp4/flashinfer_trtllm": one string for each back end, made once. */
static const char *backend_text(size_t i) {
    static _Thread_local char texts[MOST][96];
    snprintf(texts[i], sizeof texts[i], "%s/%s", cs_backends[i].method, cs_backends[i].name);
    return texts[i];
}

static const char *number_text(int64_t number) {
    static _Thread_local char texts[512][8];
    snprintf(texts[number], sizeof texts[number], "%" PRId64, number);
    return texts[number];
}

const char *cs_axis_value(enum cs_axis_id id, size_t value) {
    switch (id) {
    case CS_AXIS_backend: return backend_text(list_of(id)->index[value]);
    case CS_AXIS_loader: return cs_loaders[list_of(id)->index[value]]->name;
    case CS_AXIS_start: return cs_drivers[list_of(id)->index[value]]->name;
    case CS_AXIS_policy: return cs_policies[value].name;
    case CS_AXIS_device: return cs_devices[value]->name;
    case CS_AXIS_ranks: return ranks[value].name;
    case CS_AXIS_beside: return besides[value].name;
    case CS_AXIS_rounding: return roundings[value];
    case CS_AXIS_arrival: return arrivals[value];
    case CS_AXIS_engine: return engines[value];
    case CS_AXIS_layer: return layers[value].name;
    case CS_AXIS_allocator: return memories[value].name;
    default: return number_text(numbers[id].values[value]);
    }
}

const struct cs_axis *cs_axis(enum cs_axis_id id) {
    static const char *const names[] = {
#define X(id, text) #id,
        CS_AXES(X)
#undef X
    };
    static const char *const texts[] = {
#define X(id, text) text,
        CS_AXES(X)
#undef X
    };
    static _Thread_local struct cs_axis axes[CS_N_AXES];
    bool is_free = id != CS_AXIS_backend && id != CS_AXIS_loader && id != CS_AXIS_policy && id != CS_AXIS_device;
    if (!axes[id].n) axes[id] = (struct cs_axis){names[id], texts[id], count(id), is_free};
    return &axes[id];
}

enum cs_status cs_axis_parse(enum cs_axis_id id, const char *word, uint8_t *value) {
    const char *names[CS_AXIS_VALUES];
    size_t n = cs_axis(id)->n;
    for (size_t i = 0; i < n; i++) {
        names[i] = cs_axis_value(id, i);
        *value = (uint8_t)i;
        if (cs_text_equal(names[i], word)) return CS_OK;
    }
    const char *nearest = cs_text_nearest(word, names, n);
    return cs_fail(CS_BAD_VALUE, "axis %s has no value \"%s\"%s%s%s", cs_axis(id)->name, word,
                   nearest ? ": did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
}
