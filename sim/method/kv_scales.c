#include "sim/method/methods.h"

#include <string.h>

enum { K, V, Q, PROB };

enum cs_status cs_kv_rule_parse(const char *cache_dtype, bool is_fnuz, struct cs_kv_rule *rule) {
    static const char *const known[] = {
        "auto", "bfloat16", "float16", "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_per_token_head", "int8_per_token_head"};
    for (size_t i = 0; i < CS_COUNT(known); i++) {
        if (!cs_text_equal(known[i], cache_dtype)) continue;
        bool is_per_token_head = strstr(cache_dtype, "_per_token_head");
        *rule =
            (struct cs_kv_rule){strncmp(cache_dtype, "fp8", 3) == 0 || is_per_token_head, is_per_token_head, is_fnuz};
        return CS_OK;
    }
    return cs_fail(CS_BAD_VALUE,
                   "KV cache dtype \"%s\" is unknown: use auto, bfloat16, float16, fp8, fp8_e4m3, fp8_e5m2 or a "
                   "per_token_head one",
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
