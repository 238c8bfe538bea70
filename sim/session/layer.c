/* How the routed experts of a layer are configured: sizes of a rank, and what a method cannot be configured to. */
#include "sim/session/internal.h"

#include <string.h>

/* ---- sizes ---- */

/* The name that rules know a back end by: the user's, when it is one of upstream's, else the first of those. */
static const char *upstream_name(const struct cs_scenario *scenario, const struct cs_backend *backend, char *buffer,
                                 size_t size) {
    bool is_ours = cs_text_equal(scenario->backend, backend->name);
    size_t n = is_ours ? strcspn(backend->upstream, " ") : strlen(scenario->backend);
    const char *name = is_ours ? backend->upstream : scenario->backend;
    if (n >= size) n = size - 1;
    memcpy(buffer, name, n);
    buffer[n] = 0;
    return buffer;
}

/* Other platforms and activations round otherwise. */
static struct cs_backend backend_here(const struct cs_scenario *scenario, const struct cs_backend *backend) {
    const struct cs_layer_settings *layer = &scenario->layer;
    struct cs_backend here = *backend;
    char name[64];
    if (layer->platform == CS_CUDA && !layer->activation) return here;
    here.released =
        cs_mxfp4_rounding(upstream_name(scenario, backend, name, sizeof name), layer->platform, layer->activation);
    return here;
}

/* Physical experts, redundant ones included, in turn or linearly: the first ranks then get the rest. */
static void place_experts(const struct cs_scenario *scenario, struct cs_rank_spec *spec) {
    int64_t n = scenario->model.experts + scenario->layer.redundant, each = n / scenario->ep, rest = n % scenario->ep;
    spec->sizes.experts_redundant = scenario->layer.redundant;
    spec->sizes.experts = each + (spec->ep_rank < rest);
    spec->first_expert = each * spec->ep_rank + (spec->ep_rank < rest ? spec->ep_rank : rest);
    spec->is_round_robin = scenario->layer.is_round_robin;
}

enum cs_status cs_session_rank_sizes(const struct cs_scenario *scenario, int rank, struct cs_rank_spec *spec) {
    const struct cs_model_config *model = &scenario->model;
    const struct cs_layer_settings *layer = &scenario->layer;
    spec->tp_rank = scenario->ep > 1 ? 0 : rank;
    spec->ep_rank = scenario->ep > 1 ? rank : 0;
    spec->sizes = (struct cs_sizes){.experts_global = model->experts,
                                    .hidden = model->hidden,
                                    .hidden_u = model->hidden,
                                    .intermediate_full = model->intermediate,
                                    .tp = scenario->tp,
                                    .ep = scenario->ep,
                                    .options = layer->on,
                                    .bits = layer->bits,
                                    .group = layer->group,
                                    .block = {layer->block[0], layer->block[1]},
                                    .all2all = layer->all2all};
    place_experts(scenario, spec);
    if (!scenario->method) return CS_OK; /* toys and dense models have no experts to shard or round */
    if (!layer->is_chosen_by_engine) spec->sizes.options |= CS_NAMED_BACKEND;
    if (scenario->has_cpu_arithmetic) spec->sizes.options |= CS_CPU_ARITHMETIC;
    struct cs_backend backend = backend_here(scenario, cs_scenario_backend(scenario));
    const struct cs_method *method = cs_scenario_method(scenario);
    CS_TRY(cs_sizes_for_method(&spec->sizes, method, &backend, cs_text_equal(scenario->rounding, "reference")));
    const struct cs_sizes *sizes = &spec->sizes;
    bool is_one = sizes->group <= 0 || sizes->options & CS_PER_CHANNEL;
    bool is_whole = is_one || (sizes->hidden % sizes->group == 0 && sizes->intermediate_u % sizes->group == 0);
    CS_REQUIRE(is_whole || !method->needs_whole_groups, CS_BAD_VALUE,
               "hidden %" PRId64 " or intermediate %" PRId64 " per rank is not a multiple of the group size %" PRId64
               ": upstream does not choose %s then (check_moe_marlin_supports_layer): choose quantization.group, tp or "
               "sizes so that both are",
               sizes->hidden, sizes->intermediate_u, sizes->group, method->name);
    return CS_OK;
}

/* ---- what a method can be configured to ---- */

/* Which rows of its loader, or which rounding rule of its back end, look at an option. */
static const struct {
    unsigned option;
    const char *key;
    enum cs_status (*rounds[2])(struct cs_sizes *);
} options[] = {
    {CS_WITH_BIAS, "experts.bias", {NULL}},
    {CS_NOT_GATED, "experts.gated", {NULL}},
    {CS_WITH_LORA, "experts.lora", {cs_round_fp8_block, cs_round_fp8_block_refined}},
    {CS_STATIC_INPUT, "quantization.static_input", {NULL}},
    {CS_ASYMMETRIC, "quantization.asymmetric", {NULL}},
    {CS_PER_CHANNEL, "quantization.per_channel", {NULL}},
    {CS_ACT_ORDER, "quantization.act_order", {cs_round_gptq, NULL}},
};

static bool is_created(const struct cs_method *method, const char *param, unsigned option) {
    for (size_t i = 0; i < method->n_params; i++)
        if (method->params[i].when & option && cs_text_equal(method->params[i].name, param)) return true;
    return false;
}

/* The loader has rows that ask for it, or writes what only layers with it have. */
static bool is_loaded(const struct cs_method *method, const struct cs_loader *loader, unsigned option) {
    for (size_t i = 0; i < loader->n_rows; i++) {
        const struct cs_loader_row *row = &loader->rows[i];
        if ((row->when | row->when >> 16) & option || is_created(method, row->param, option)) return true;
    }
    return false;
}

static bool is_rounded(const struct cs_backend *backend, size_t i) {
    for (size_t r = 0; r < CS_COUNT(options[i].rounds); r++)
        if (options[i].rounds[r] && options[i].rounds[r] == backend->round) return true;
    return false;
}

static enum cs_status check_options(const struct cs_scenario *scenario, int line, const struct cs_loader *loader) {
    const struct cs_method *method = cs_scenario_method(scenario);
    const struct cs_layer_settings *layer = &scenario->layer;
    for (size_t i = 0; i < CS_COUNT(options); i++) {
        bool is_known = options[i].rounds[0] ? is_rounded(cs_scenario_backend(scenario), i)
                                             : is_loaded(method, loader, options[i].option);
        CS_REQUIRE(!(layer->on & options[i].option) || is_known, CS_BAD_SCRIPT,
                   "%s:%d: %s: nothing of method %s with loader %s depends on it: leave it out, or choose others",
                   scenario->file, line, options[i].key, method->name, loader->name);
        CS_REQUIRE(!(layer->off & method->usual.options & options[i].option), CS_BAD_SCRIPT,
                   "%s:%d: %s = false: every layer of method %s has it", scenario->file, line, options[i].key,
                   method->name);
    }
    return CS_OK;
}

/* Whether a shape has one of these size words. */
static bool mentions(const char *shape, const char *const *words) {
    for (const char *c = shape; c && *c;) {
        size_t n = strcspn(c, " */+");
        for (size_t i = 0; words[i]; i++)
            if (strlen(words[i]) == n && strncmp(words[i], c, n) == 0) return true;
        c += n;
        c += strspn(c, " */+");
    }
    return false;
}

static enum cs_status check_number(const struct cs_scenario *scenario, const char *key, bool is_given,
                                   const char *const *words) {
    const struct cs_method *method = cs_scenario_method(scenario);
    bool is_used = !is_given;
    for (size_t i = 0; i < method->n_params && !is_used; i++) is_used = mentions(method->params[i].shape, words);
    CS_REQUIRE(is_used, CS_BAD_SCRIPT, "%s:%d: quantization.%s: no parameter of method %s depends on it: leave it out",
               scenario->file, scenario->line, key, method->name);
    return CS_OK;
}

static enum cs_status check_numbers(const struct cs_scenario *scenario) {
    const struct cs_layer_settings *layer = &scenario->layer;
    static const char *const groups[] = {"G", NULL}, *const widths[] = {"B", "P", NULL}, *const packed[] = {"P", NULL},
                             *const blocks[] = {"Bn", "Bk", "bn", "bk", NULL};
    CS_TRY(check_number(scenario, "group", layer->group, groups));
    CS_TRY(check_number(scenario, "bits", layer->bits, widths));
    if (layer->bits > 0 && 32 % layer->bits) {
        const struct cs_method *method = cs_scenario_method(scenario);
        for (size_t i = 0; i < method->n_params; i++)
            CS_REQUIRE(!mentions(method->params[i].shape, packed), CS_BAD_SCRIPT,
                       "%s:%d: quantization.bits: %d: method %s packs integers into words of 32 bits: 4 or 8",
                       scenario->file, scenario->line, layer->bits, method->name);
    }
    int only = cs_scenario_method(scenario)->only_bits;
    CS_REQUIRE(!only || !layer->bits || layer->bits == only, CS_BAD_SCRIPT,
               "%s:%d: quantization.bits: %d: upstream's experts of method %s have %d bits: leave it out",
               scenario->file, scenario->line, layer->bits, scenario->method, only);
    return check_number(scenario, "block", layer->block[0], blocks);
}

/* Experts that may move to other ranks, as upstream refuses them: fused_moe/layer.py, routed_experts.py. */
static enum cs_status check_balance(const struct cs_scenario *scenario) {
    const struct cs_backend *backend = cs_scenario_backend(scenario);
    int64_t n = scenario->model.experts + scenario->layer.redundant;
    CS_REQUIRE(cs_method_supports_eplb(cs_scenario_method(scenario), backend), CS_BAD_SCRIPT,
               "%s:%d: experts.redundant: upstream refuses load balancing of %s with %s (EPLB is not supported): leave "
               "it out",
               scenario->file, scenario->line, backend->method, backend->name);
    CS_REQUIRE(n % scenario->ep == 0, CS_BAD_SCRIPT,
               "%s:%d: experts.redundant: %" PRId64
               " experts with the copies, on ep %d ranks: load balancing needs the "
               "same number on each, as upstream says",
               scenario->file, scenario->line, n, scenario->ep);
    return CS_OK;
}

static enum cs_status check_placement(const struct cs_scenario *scenario) {
    const struct cs_layer_settings *layer = &scenario->layer;
    CS_REQUIRE(scenario->ep > 1 || (!layer->redundant && !layer->is_round_robin), CS_BAD_SCRIPT,
               "%s:%d: experts.%s: there is one rank: set ep", scenario->file, scenario->line,
               layer->redundant ? "redundant" : "placement");
    CS_REQUIRE(layer->redundant <= scenario->model.experts, CS_BAD_SCRIPT,
               "%s:%d: experts.redundant: %" PRId64 ", but the model has %" PRId64 " experts to copy", scenario->file,
               scenario->line, layer->redundant, scenario->model.experts);
    CS_REQUIRE(!layer->redundant || !layer->is_round_robin, CS_BAD_SCRIPT,
               "%s:%d: experts.placement: \"round_robin\" with experts.redundant = %" PRId64
               ": upstream places them linearly then: leave one of them out",
               scenario->file, scenario->line, layer->redundant);
    return layer->redundant ? check_balance(scenario) : CS_OK;
}

enum cs_status cs_session_check_layer(const struct cs_scenario *scenario) {
    const struct cs_layer_settings *layer = &scenario->layer;
    bool says_something = layer->on || layer->off || layer->bits || layer->group || layer->block[0] ||
                          layer->redundant || layer->is_round_robin || layer->all2all || layer->platform ||
                          layer->activation || layer->is_chosen_by_engine;
    if (!scenario->method)
        return says_something ? cs_fail(CS_BAD_SCRIPT,
                                        "%s:%d: the model has no routed experts: leave out quantization, experts, "
                                        "all2all, platform and chosen_by",
                                        scenario->file, scenario->line)
                              : CS_OK;
    CS_TRY(check_options(scenario, scenario->line, cs_scenario_loader(scenario, NULL)));
    for (size_t i = 0; i < scenario->n_ops; i++)
        if (scenario->ops[i].loader)
            CS_TRY(
                check_options(scenario, scenario->ops[i].line, cs_scenario_loader(scenario, scenario->ops[i].loader)));
    CS_TRY(check_numbers(scenario));
    CS_TRY(check_placement(scenario));
    const struct cs_backend *backend = cs_scenario_backend(scenario);
    bool depends = cs_mxfp4_is_ruled(backend->upstream, &backend->released);
    CS_REQUIRE(depends || (layer->platform == CS_CUDA && !layer->activation), CS_BAD_SCRIPT,
               "%s:%d: %s: %s rounds sizes in the same way on every platform: leave it out", scenario->file,
               scenario->line, layer->platform != CS_CUDA ? "platform" : "experts.activation", backend->name);
    return CS_OK;
}
