#include "sim/method/methods.h"

#include <string.h>

enum { K, V, Q, PROB };

/* Source: vllm config/cache.py, v1/kv_cache_interface.py. */
/* clang-format off */
static const struct {
    const char *cache_dtype;
    bool is_quantised;
} known[] = {
    {"auto", false},              {"float16", false},           {"bfloat16", false},         {"fp8", true},
    {"fp8_e4m3", true},           {"fp8_e5m2", true},           {"fp8_inc", true},           {"fp8_ds_mla", true},
    {"nvfp4_ds_mla", true},       {"turboquant_k8v4", true},    {"turboquant_4bit_nc", true}, {"turboquant_k3v4_nc", true},
    {"turboquant_3bit_nc", true}, {"octave_k3v4", true},        {"octave_k3v3", true},       {"octave_k3v3_compact", true},
    {"ultraquant_4bit", true},    {"int4_per_token_head", true}, {"int8_per_token_head", true}, {"fp8_per_token_head", true},
    {"nvfp4", true},              {"nvfp4_4over6", true},
};
/* clang-format on */

enum cs_status cs_kv_rule_parse(const char *cache_dtype, bool is_fnuz, struct cs_kv_rule *rule) {
    for (size_t i = 0; i < CS_COUNT(known); i++) {
        if (!cs_text_equal(known[i].cache_dtype, cache_dtype)) continue;
        *rule = (struct cs_kv_rule){known[i].is_quantised, strstr(cache_dtype, "_per_token_head"), is_fnuz};
        return CS_OK;
    }
    return cs_fail(CS_BAD_VALUE,
                   "KV cache dtype \"%s\" is unknown: use auto, float16, bfloat16, or an fp8, nvfp4, turboquant, octave, "
                   "ultraquant or per_token_head one",
                   cache_dtype);
}

/* A scale that was loaded counts twice on fnuz hardware; the default 1 does not. */
static float taken(const struct cs_kv_rule *rule, float loaded) { return rule->is_fnuz ? loaded * 2.0f : loaded; }

/* Both loaded; neither; or k alone, which then serves v too. */
static enum cs_status take_k_and_v(const struct cs_kv_rule *rule, const float loaded[4], float kv[2]) {
    float k = loaded[K], v = loaded[V];
    kv[K] = kv[V] = 1.0f;
    if (k < 0.0f && v < 0.0f) return CS_OK;
    CS_REQUIRE(k > 0.0f, CS_BAD_VALUE, "KV scales k = %g, v = %g: a checkpoint that has only one of them must have k",
               (double)k, (double)v);
    kv[K] = taken(rule, k);
    kv[V] = v > 0.0f ? taken(rule, v) : kv[K];
    return CS_OK;
}

enum cs_status cs_kv_scales_take(const struct cs_kv_rule *rule, const float loaded[4], struct cs_kv_scales *scales) {
    float kv[2] = {1.0f, 1.0f};
    bool has_kv = rule->is_quantised;
    if (has_kv && !rule->is_per_token_head) CS_TRY(take_k_and_v(rule, loaded, kv));
    scales->is_loaded = false;
    for (int i = K; has_kv && i <= V; i++) scales->device[i] = scales->number[i] = kv[i];
    if (rule->is_per_token_head) return CS_OK; /* computed for each token: nothing else is set */
    for (int i = K; has_kv && i <= V; i++) scales->host[i] = kv[i];
    scales->device[Q] = scales->number[Q] = loaded[Q] > 0.0f ? taken(rule, loaded[Q]) : 1.0f;
    scales->device[PROB] = loaded[PROB] > 0.0f ? taken(rule, loaded[PROB]) : 1.0f;
    return CS_OK;
}
