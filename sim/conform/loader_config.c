/* Family loaders/: which method, back end, loader and rank a captured case is about. */
#include "sim/conform/internal.h"

#include <string.h>

/* The engine's methods by the names of the captures. A captured file holds variants that only their ids tell apart; the
 * first row that fits counts. `defects`: those of the release that its captures show. */
struct captured {
    const char *method, *ids, *own, *loader;
    unsigned options;
    int bits, group;
    cs_defect_set defects;
};

#define NO_DEFECT 0
#define DEFECT(id) CS_DEFECT_BIT(CS_DEFECT_##id)
/* clang-format off */
static const struct captured captures[] = {
    {"all2all_rounding",      "a2a-fp8blk-*",           "fp8_block",           "per_expert_fp8_block",        0,               0, 0,  NO_DEFECT},
    {"all2all_rounding",      "a2a-gptoss-*",           "gpt_oss_mxfp4",       "gpt_oss_combined",            0,               0, 0,  DEFECT(EXPERTS_BY_QUOTIENT)},
    {"all2all_rounding",      "*",                      "unquantized",         "per_expert",                  0,               0, 0,  NO_DEFECT},
    {"awq",                   "*",                      "awq",                 "per_expert_awq",              0,               4, 32, NO_DEFECT},
    {"ct_wna16",              "ctwna16-asym-*",         "ct_wna16",            "per_expert_ct_wna16",         CS_ASYMMETRIC,   4, 32, NO_DEFECT},
    {"ct_wna16",              "ctwna16-channel-*",      "ct_wna16",            "per_expert_ct_wna16",         CS_PER_CHANNEL,  4, 32, NO_DEFECT},
    {"ct_wna16",              "ctwna16-w8-*",           "ct_wna16",            "per_expert_ct_wna16",         0,               8, 32, NO_DEFECT},
    {"ct_wna16",              "*",                      "ct_wna16",            "per_expert_ct_wna16",         0,               4, 32, NO_DEFECT},
    {"edge",                  "ep-fused3d-T-*",         "unquantized",         "fused_3d_transposed",         0,               0, 0,  DEFECT(FUSED_EXPERT_IDS)},
    {"edge",                  "eplb-fused3d-T-*",       "unquantized",         "fused_3d_transposed",         0,               0, 0,  DEFECT(FUSED_EXPERT_IDS)},
    {"edge",                  "per-expert-gate_up-*",   "unquantized",         "per_expert_gate_up",          0,               0, 0,  NO_DEFECT},
    {"edge",                  "*",                      "unquantized",         "per_expert",                  0,               0, 0,  NO_DEFECT},
    {"fp8_block",             "*",                      "fp8_block",           "per_expert_fp8_block",        0,               0, 0,  DEFECT(BLOCK_LOADER_FILLS)},
    {"fp8_per_channel",       "*",                      "fp8_channel",         "per_expert_fp8_channel",      0,               0, 0,  NO_DEFECT},
    {"fp8_per_tensor",        "fp8pt-ct-static-*",      "fp8_tensor_ct",       "per_expert_fp8_tensor_ct",    CS_STATIC_INPUT, 0, 0,  NO_DEFECT},
    {"fp8_per_tensor",        "fp8pt-modelopt-*",       "fp8_tensor_modelopt", "per_expert_fp8_tensor",       0,               0, 0,  NO_DEFECT},
    {"fp8_per_tensor",        "fp8pt-static-*",         "fp8_tensor",          "per_expert_fp8_tensor",       CS_STATIC_INPUT, 0, 0,  NO_DEFECT},
    {"fp8_per_tensor",        "*",                      "fp8_tensor",          "per_expert_fp8_tensor",       0,               0, 0,  NO_DEFECT},
    {"gptoss_bf16",           "gptoss-bf16-stream-*",   "unquantized",         "gpt_oss_bf16_streamed",       0,               0, 0,  DEFECT(STREAMED_PADDED_SPLIT) | DEFECT(FUSED_EXPERT_IDS)},
    {"gptoss_bf16",           "*",                      "unquantized",         "gpt_oss_bf16_combined",       0,               0, 0,  DEFECT(EXPERTS_BY_QUOTIENT)},
    {"gptoss_mxfp4",          "*",                      "gpt_oss_mxfp4",       "gpt_oss_combined",            0,               0, 0,  DEFECT(EXPERTS_BY_QUOTIENT)},
    {"gptoss_mxfp4_streamed", "*",                      "gpt_oss_mxfp4",       "gpt_oss_streamed",            0,               0, 0,  DEFECT(STREAMED_PADDED_SPLIT)},
    {"gptq",                  "gptq8-*",                "gptq",                "per_expert_gptq",             0,               8, 32, NO_DEFECT},
    {"gptq",                  "gptq4-g32-bias-*",       "gptq",                "per_expert_gptq",             CS_WITH_BIAS,    4, 32, NO_DEFECT},
    {"gptq",                  "gptq4-g128-*",             "gptq",                "per_expert_gptq",             0,               4, 64, NO_DEFECT},
    {"gptq",                  "gptq4-ch-*",             "gptq",                "per_expert_gptq",             CS_PER_CHANNEL,  4, 32, NO_DEFECT},
    {"gptq",                  "*",                      "gptq",                "per_expert_gptq",             0,               4, 32, NO_DEFECT},
    {"llama4_fused3d",        "*",                      "unquantized",         "llama4",                      0,               0, 0,  NO_DEFECT},
    {"mxfp4_ct",              "*",                      "mxfp4_ct",            "per_expert_mxfp4_ct",         0,               0, 0,  NO_DEFECT},
    {"mxfp4_generic",         "*",                      "mxfp4",               "per_expert_mxfp4",            0,               0, 0,  NO_DEFECT},
    {"mxfp8_modelopt",        "*",                      "mxfp8_modelopt",      "per_expert_mxfp8",            0,               0, 0,  NO_DEFECT},
    {"nvfp4_ct",              "*",                      "nvfp4_ct",            "per_expert_nvfp4_ct",         0,               0, 0,  NO_DEFECT},
    {"nvfp4_modelopt",        "*",                      "nvfp4_modelopt",      "per_expert_nvfp4_modelopt",   0,               0, 0,  NO_DEFECT},
    {"online",                "online-fp8_per_tensor-*", "online_fp8_tensor",  "per_expert",                  0,               0, 0,  NO_DEFECT},
    {"online",                "online-fp8_ptpc-*",      "online_fp8_channel",  "per_expert",                  0,               0, 0,  NO_DEFECT},
    {"online",                "online-fp8_per_block-*", "online_fp8_block",    "per_expert",                  0,               0, 0,  NO_DEFECT},
    {"online",                "online-mxfp8-*",         "online_mxfp8",        "per_expert",                  0,               0, 0,  NO_DEFECT},
    {"online",                "online-mxfp4-*",         "online_mxfp4",        "per_expert",                  0,               0, 0,  NO_DEFECT},
    {"quark_fp8",             "quark-fp8blk-*",         "quark_fp8_block",     "per_expert_quark_fp8_block",  0,               0, 0,  NO_DEFECT},
    {"quark_fp8",             "quark-fp8ch-*",          "quark_fp8_channel",   "per_expert_quark_fp8_channel", 0,              0, 0,  NO_DEFECT},
    {"quark_fp8",             "*",                      "quark_fp8_tensor",    "per_expert_fp8_tensor",       CS_STATIC_INPUT, 0, 0,  NO_DEFECT},
    {"quark_gptoss",          "quark-gptoss-fp8-*",     "quark_fp8_gpt_oss",   "gpt_oss_quark_fp8",           0,               0, 0,  DEFECT(EXPERTS_BY_QUOTIENT) | DEFECT(FUSED_EXPERT_IDS)},
    {"quark_gptoss",          "quark-gptoss-mx-combined-*", "quark_mx",        "gpt_oss_quark_mx_combined",   0,               0, 0,  DEFECT(EXPERTS_BY_QUOTIENT)},
    {"quark_gptoss",          "*",                      "quark_mx",            "gpt_oss_quark_mx",            0,               0, 0,  DEFECT(EXPERTS_BY_QUOTIENT) | DEFECT(FUSED_EXPERT_IDS)},
    {"quark_mxfp4",           "quark-w4afp8-static*",   "quark_mx",            "per_expert_quark_mx",         CS_STATIC_INPUT, 4, 0,  NO_DEFECT},
    {"quark_mxfp4",           "*",                      "quark_mx",            "per_expert_quark_mx",         0,               4, 0,  NO_DEFECT},
    {"quark_mxfp6",           "*",                      "quark_mx",            "per_expert_quark_mx",         0,               6, 0,  NO_DEFECT},
    {"reload",                "reload-bf16-*",          "unquantized",         "per_expert",                  0,               0, 0,  NO_DEFECT},
    {"reload",                "reload-ct-fp8-static",   "fp8_tensor_ct",       "per_expert_fp8_tensor_ct",    CS_STATIC_INPUT, 0, 0,  NO_DEFECT},
    {"reload",                "reload-ctwna16-channel-*", "ct_wna16",          "per_expert_ct_wna16",         CS_PER_CHANNEL,  4, 32, NO_DEFECT},
    {"reload",                "reload-ctwna16-g32-*",   "ct_wna16",            "per_expert_ct_wna16",         0,               4, 32, NO_DEFECT},
    {"reload",                "reload-eplb-*",          "unquantized",         "per_expert",                  0,               0, 0,  NO_DEFECT},
    {"reload",                "reload-fp8blk-*",        "fp8_block",           "per_expert_fp8_block",        0,               0, 0,  DEFECT(BLOCK_LOADER_FILLS)},
    {"reload",                "reload-fp8pt-dynamic-*", "fp8_tensor",          "per_expert_fp8_tensor",       0,               0, 0,  NO_DEFECT},
    {"reload",                "reload-fp8pt-static-*",  "fp8_tensor",          "per_expert_fp8_tensor",       CS_STATIC_INPUT, 0, 0,  NO_DEFECT},
    {"reload",                "reload-gptoss-bf16-stream-*", "unquantized",    "gpt_oss_bf16_streamed",       0,               0, 0,  DEFECT(STREAMED_PADDED_SPLIT) | DEFECT(FUSED_EXPERT_IDS)},
    {"reload",                "reload-gptoss-bf16-*",   "unquantized",         "gpt_oss_bf16_combined",       0,               0, 0,  DEFECT(EXPERTS_BY_QUOTIENT)},
    {"reload",                "reload-gptoss-mx-*",     "gpt_oss_mxfp4",       "gpt_oss_combined",            0,               0, 0,  DEFECT(EXPERTS_BY_QUOTIENT)},
    {"reload",                "reload-missing-*",       "unquantized",         "per_expert",                  0,               0, 0,  NO_DEFECT},
    {"reload",                "reload-mxfp4-gen-*",     "mxfp4",               "per_expert_mxfp4",            0,               0, 0,  NO_DEFECT},
    {"reload",                "reload-nvfp4-mo-*",      "nvfp4_modelopt",      "per_expert_nvfp4_modelopt",   0,               0, 0,  NO_DEFECT},
    {"unquantized",           "bf16-fused3d-N-*",       "unquantized",         "fused_3d",                    0,               0, 0,  DEFECT(FUSED_EXPERT_IDS)},
    {"unquantized",           "bf16-fused3d-T-*",       "unquantized",         "fused_3d_transposed",         0,               0, 0,  DEFECT(FUSED_EXPERT_IDS)},
    {"unquantized",           "*",                      "unquantized",         "per_expert",                  0,               0, 0,  NO_DEFECT},
};

/* Captured words that are no upstream identifiers. */
static const struct {
    const char *captured, *upstream;
} backends[] = {{"FlashInfer CUTLASS", "FLASHINFER_CUTLASS"}, {"FlashInfer TRTLLM", "FLASHINFER_TRTLLM"}, {"ROCm AITER", "AITER"}, {"None", "NONE"}};

static const struct {
    const char *name;
    enum cs_all2all all2all;
} all2alls[] = {
    {"allgather_reducescatter", CS_ALL2ALL_NONE},        {"deepep_high_throughput", CS_ALL2ALL_DEEPEP_HT},
    {"deepep_low_latency",      CS_ALL2ALL_DEEPEP_LL},   {"deepep_v2",              CS_ALL2ALL_DEEPEP_V2},
    {"nixl_ep",                 CS_ALL2ALL_NIXL_EP},
};
/* clang-format on */

static const struct captured *find_capture(const json_t *json) {
    const char *method = cs_golden_string(json, "method"), *id = cs_golden_string(json, "id");
    for (size_t i = 0; i < CS_COUNT(captures) && method && id; i++)
        if (cs_text_equal(captures[i].method, method) && cs_text_matches(captures[i].ids, id)) return &captures[i];
    return NULL;
}

static const struct cs_backend *find_backend(const json_t *json, const struct cs_method *method) {
    const char *name = cs_golden_string(json, "backend");
    for (size_t i = 0; i < CS_COUNT(backends) && name; i++)
        if (cs_text_equal(backends[i].captured, name)) name = backends[i].upstream;
    return method && name ? cs_backend_by_name(method, name) : NULL;
}

static enum cs_status find_method(const json_t *json, struct cs_layer_config *config) {
    const struct captured *captured = find_capture(json);
    CS_REQUIRE(captured, CS_UNSUPPORTED, "no such method");
    config->method = cs_method_by_name(captured->own);
    config->loader = cs_loader_by_name(captured->loader);
    config->backend = find_backend(json, config->method);
    CS_REQUIRE(config->backend && config->loader, CS_UNSUPPORTED, "no such back end or loader");
    config->known_defects = captured->defects;
    config->has_agreed_scales = cs_text_equal(captured->loader, "per_expert_fp8_tensor_ct");
    config->sizes.options = captured->options;
    config->sizes.bits = captured->bits;
    config->sizes.group = captured->group;
    return CS_OK;
}

bool cs_golden_describe_loader(const json_t *json, const void *context, struct cs_conform_subject *subject) {
    (void)context;
    struct cs_layer_config config = {0};
    if (!json_object_get(json, "dims") || find_method(json, &config) != CS_OK) return false;
    subject->method = config.method, subject->backend = config.backend, subject->loader = config.loader;
    return true;
}

/* A case has a layer's sizes; entries of other files may carry the same method's name. */
cs_golden_check *cs_golden_loader_check(const json_t *json) {
    struct cs_layer_config config = {0};
    bool is_layer = json_object_get(json, "dims") && find_method(json, &config) == CS_OK;
    if (!is_layer) return NULL;
    return cs_text_equal(cs_golden_string(json, "method"), "reload") ? cs_golden_loader_reload : cs_golden_loader_case;
}

static enum cs_status small_integer(const json_t *json, const char *key, int64_t absent, int *number) {
    int64_t value = absent;
    if (json_object_get(json, key)) CS_TRY(cs_golden_integer(json, key, &value));
    CS_REQUIRE(value >= 0 && value <= INT16_MAX, CS_BAD_FILE, "golden file: \"%s\" is %" PRId64, key, value);
    *number = (int)value;
    return CS_OK;
}

static enum cs_status read_options(const json_t *json, struct cs_sizes *sizes) {
    const char *activation = cs_golden_string(json, "activation"), *all2all = cs_golden_string(json, "all2all");
    if (json_is_true(json_object_get(json, "bias"))) sizes->options |= CS_WITH_BIAS;
    if (activation && cs_text_matches("*_no_mul", activation)) sizes->options |= CS_NOT_GATED;
    if (cs_golden_string(json, "moe_backend")) sizes->options |= CS_NAMED_BACKEND;
    int dp;
    CS_TRY(small_integer(json, "dp", 1, &dp));
    if (!all2all || sizes->ep == 1 || dp == 1) return CS_OK; /* nothing is exchanged then */
    for (size_t i = 0; i < CS_COUNT(all2alls); i++) {
        if (!cs_text_equal(all2alls[i].name, all2all)) continue;
        sizes->all2all = all2alls[i].all2all;
        return CS_OK;
    }
    return cs_fail(CS_UNSUPPORTED, "no such all-to-all back end: %s", all2all);
}

/* In turn, where experts have groups, none is redundant, and what exchanges tokens knows. Source: vllm
 * fused_moe/expert_map_manager.py, determine_expert_placement_strategy. */
static enum cs_status read_placement(const json_t *json, struct cs_layer_config *config) {
    const char *placement = cs_golden_string(json, "placement");
    enum cs_all2all all2all = config->sizes.all2all;
    bool is_known = all2all == CS_ALL2ALL_NONE || all2all == CS_ALL2ALL_DEEPEP_LL || all2all == CS_ALL2ALL_NIXL_EP;
    int groups;
    CS_TRY(small_integer(json, "groups", 1, &groups));
    config->is_round_robin = placement && cs_text_equal(placement, "round_robin") && groups > 1 &&
                             config->sizes.experts_redundant == 0 && is_known;
    return CS_OK;
}

/* Experts are placed linearly, the first ranks get the remainder; or in turn. */
static enum cs_status place_experts(const json_t *json, struct cs_layer_config *config) {
    struct cs_sizes *sizes = &config->sizes;
    int redundant;
    CS_TRY(small_integer(json, "redundant", 0, &redundant));
    CS_REQUIRE(sizes->ep > 0 && sizes->experts_global >= 0 && sizes->experts_global < INT32_MAX, CS_BAD_FILE,
               "golden file: \"ep\" or \"E\" is not positive");
    sizes->experts_redundant = redundant;
    int64_t n = sizes->experts_global + redundant, each = n / sizes->ep, rest = n % sizes->ep;
    sizes->experts = each + (config->ep_rank < rest);
    config->first_expert = each * config->ep_rank + (config->ep_rank < rest ? config->ep_rank : rest);
    return read_placement(json, config);
}

enum cs_status cs_golden_layer_config(const struct cs_golden_case *golden, struct cs_layer_config *config) {
    const json_t *json = golden->json, *dims;
    struct cs_sizes *sizes = &config->sizes;
    *config = (struct cs_layer_config){.device = golden->device};
    CS_TRY(find_method(json, config));
    CS_TRY(cs_golden_object(json, "dims", &dims));
    CS_TRY(cs_golden_integer(dims, "E", &sizes->experts_global));
    CS_TRY(cs_golden_integer(dims, "H", &sizes->hidden_u));
    CS_TRY(cs_golden_integer(dims, "I", &sizes->intermediate_full));
    CS_TRY(small_integer(json, "tp", 1, &sizes->tp));
    CS_TRY(small_integer(json, "ep", 1, &sizes->ep));
    CS_TRY(small_integer(json, "rank", 0, &config->tp_rank));
    CS_TRY(small_integer(json, "eprank", 0, &config->ep_rank));
    CS_TRY(read_options(json, sizes));
    return place_experts(json, config);
}
