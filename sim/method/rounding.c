/* Sizes: sharded first, then rounded. */
#include "sim/method/method.h"

#include <string.h>

static int64_t up(int64_t size, int64_t multiple) {
    return multiple ? (size + multiple - 1) / multiple * multiple : size;
}

/* ---- all-to-all ---- */

enum { DEEPEP_ROW = 256 }; /* bf16 elements in 512 bytes */
static const int64_t low_latency_sizes[] = {2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192};

enum cs_status cs_all2all_round(enum cs_all2all all2all, int64_t hidden, int64_t *rounded) {
    *rounded = hidden;
    if (all2all == CS_ALL2ALL_NONE) return CS_OK;
    *rounded = up(hidden, DEEPEP_ROW);
    if (all2all == CS_ALL2ALL_DEEPEP_HT || all2all == CS_ALL2ALL_DEEPEP_V2) return CS_OK;
    for (size_t i = 0; i < CS_COUNT(low_latency_sizes); i++)
        if (low_latency_sizes[i] >= hidden) {
            *rounded = low_latency_sizes[i];
            return CS_OK;
        }
    return cs_fail(CS_BAD_VALUE,
                   "hidden size %" PRId64 " is above 8192, the largest that low-latency all-to-all kernels take",
                   hidden);
}

/* ---- MXFP4: I multiple, H multiple ---- */

struct rule {
    const char *backends; /* upstream's names; NULL: every other one */
    bool only_silu;       /* with SiLU or SiTU */
    struct cs_rounding on[CS_N_PLATFORMS];
};

#define EVERYWHERE(i, h)                                                                                               \
    {                                                                                                                  \
        {i, h}, {i, h}, {i, h}, { i, h }                                                                               \
    }
/* clang-format off */
/* The first row that fits decides.                                                  CUDA      XPU         CDNA3       CDNA4 */
static const struct rule mxfp4_rules[] = {
    {"FLASHINFER_TRTLLM_MXFP4_BF16 FLASHINFER_TRTLLM_MXFP4_MXFP8", false,            EVERYWHERE(128, 256)},
    {"FLASHINFER_CUTLASS_MXFP4_BF16 FLASHINFER_CUTLASS_MXFP4_MXFP8 DEEPGEMM_MXFP4 CUTLASS_MXFP4_MXFP4", false, EVERYWHERE(128, 128)},
    {"MARLIN BATCHED_MARLIN", false,                                               {{128, 256}, {128, 128}, {128, 256}, {128, 256}}},
    {"EMULATION", false,                                                             EVERYWHERE(32, 32)},
    {"B12X_MXFP4_BF16 B12X_MXFP4_MXFP8 FLASHINFER_MOE_EP_CUTEDSL FLASHINFER_MOE_EP_DEEP_GEMM", false, EVERYWHERE(0, 0)},
    {"AITER_MXFP4_MXFP4", false,                                                   {{64, 0},    {64, 0},    {128, 256}, {128, 256}}},
    {"AITER_MXFP4_BF16", true,                                                     {{64, 0},    {64, 0},    {128, 128}, {128, 128}}},
    {"TRITON_UNFUSED", true,                                                       {{64, 0},    {64, 0},    {128, 128}, {256, 256}}},
    {"CPU", false,                                                                 {{32, 32},   {32, 32},   {256, 256}, {256, 256}}},
    {NULL, false,                                                                  {{64, 0},    {64, 0},    {256, 256}, {256, 256}}},
};
/* clang-format on */

static bool is_one_of(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *w = words; *w; w += strspn(w, " ")) {
        size_t n = strcspn(w, " ");
        if (n == length && strncmp(w, word, n) == 0) return true;
        w += n;
    }
    return false;
}

struct cs_rounding cs_mxfp4_rounding(const char *upstream, enum cs_platform platform, const char *activation) {
    bool is_silu = activation && (cs_text_equal(activation, "silu") || cs_text_equal(activation, "situ"));
    const struct rule *rule = mxfp4_rules;
    while (rule->backends && (!is_one_of(rule->backends, upstream) || (rule->only_silu && !is_silu))) rule++;
    return rule->on[platform];
}

bool cs_mxfp4_is_ruled(const char *upstreams, const struct cs_rounding *released) {
    char first[64];
    size_t n = upstreams ? strcspn(upstreams, " ") : 0;
    if (n == 0 || n >= sizeof first) return false;
    memcpy(first, upstreams, n);
    first[n] = 0;
    struct cs_rounding rule = cs_mxfp4_rounding(first, CS_CUDA, NULL);
    return rule.intermediate == released->intermediate && rule.hidden == released->hidden;
}

const char *cs_platform_name(enum cs_platform platform) {
    static const char *const names[CS_N_PLATFORMS] = {"cuda", "xpu", "cdna3", "cdna4"};
    return names[platform];
}

const char *cs_all2all_name(enum cs_all2all all2all) {
    static const char *const names[CS_N_ALL2ALLS] = {"none", "deepep_ht", "deepep_ll", "deepep_v2", "nixl_ep"};
    return names[all2all];
}

/* ---- rules of single back ends ---- */

/* Source: vllm fused_moe/oracle/unquantized.py. */
int64_t cs_aiter_alignment(int64_t intermediate) { return intermediate <= 192 ? 64 : 128; }

enum cs_status cs_round_unquantized_aiter(struct cs_sizes *sizes) {
    sizes->intermediate = up(sizes->intermediate, cs_aiter_alignment(sizes->intermediate));
    return CS_OK;
}

enum cs_status cs_round_by_32(struct cs_sizes *sizes) {
    CS_REQUIRE(sizes->hidden % 32 == 0 && sizes->intermediate % 32 == 0, CS_BAD_VALUE,
               "MXFP8 needs sizes that are multiples of 32: hidden %" PRId64 ", intermediate %" PRId64
               " per rank: choose other sizes, or another tp",
               sizes->hidden, sizes->intermediate);
    return CS_OK;
}

enum cs_status cs_round_by_group(struct cs_sizes *sizes) {
    bool is_whole = sizes->options & CS_PER_CHANNEL ||
                    (sizes->hidden % sizes->group == 0 && sizes->intermediate % sizes->group == 0);
    CS_REQUIRE(is_whole, CS_BAD_VALUE,
               "hidden %" PRId64 " or intermediate %" PRId64 " per rank is not a multiple of the group size %" PRId64
               ": choose quantization.group, tp or sizes so that both are",
               sizes->hidden, sizes->intermediate, sizes->group);
    int word = sizes->bits > 0 ? 32 / sizes->bits : 1;
    bool is_packed = !(sizes->options & CS_ASYMMETRIC) ||
                     (2 * sizes->intermediate % word == 0 && sizes->hidden % word == 0);
    CS_REQUIRE(is_packed, CS_BAD_VALUE,
               "zero points are packed by %d: hidden %" PRId64 " and gate and up, %" PRId64
               " per rank, must be multiples of that: choose other sizes or another tp, or leave out quantization.asymmetric",
               word, sizes->hidden, 2 * sizes->intermediate);
    return CS_OK;
}

enum cs_status cs_round_by_group_only(struct cs_sizes *sizes) {
    CS_REQUIRE(!(sizes->options & CS_PER_CHANNEL), CS_BAD_VALUE,
               "FlashInfer's integer kernels need groups: choose a group size, or Marlin");
    return cs_round_by_group(sizes);
}

enum cs_status cs_round_gptq(struct cs_sizes *sizes) {
    bool is_reordered = sizes->options & CS_ACT_ORDER && !(sizes->options & CS_PER_CHANNEL);
    CS_REQUIRE(!is_reordered, CS_BAD_VALUE,
               "GPTQ experts with desc_act and groups of %" PRId64 " are not supported: quantise without desc_act",
               sizes->group);
    return CS_OK;
}

/* ---- FP8 blocks. Source: vllm fused_moe/oracle/fp8.py, quantization/fp8.py ---- */

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

enum { FINEST_BLOCK = 32 };

static bool fits(const struct cs_sizes *sizes) {
    return sizes->intermediate % sizes->block[0] == 0 && (sizes->tp == 1 || sizes->intermediate % sizes->block[1] == 0);
}

static int64_t refined_block(const struct cs_sizes *sizes) {
    return gcd(gcd(sizes->block[0], sizes->block[1]), gcd(sizes->intermediate, sizes->hidden));
}

static enum cs_status refine(struct cs_sizes *sizes) {
    int64_t block = refined_block(sizes);
    CS_REQUIRE(block >= FINEST_BLOCK, CS_BAD_VALUE,
               "intermediate %" PRId64 " per rank and hidden %" PRId64
               " have no common scale block of at least %d with %" PRId64 " x %" PRId64,
               sizes->intermediate, sizes->hidden, FINEST_BLOCK, sizes->block[0], sizes->block[1]);
    sizes->refine[0] = sizes->block[0] / block;
    sizes->refine[1] = sizes->block[1] / block;
    return CS_OK;
}

static enum cs_status take_whole_blocks(struct cs_sizes *sizes) {
    int64_t block = sizes->block[0];
    bool is_allowed = sizes->intermediate_full % block == 0 && sizes->hidden % block == 0 && sizes->ep == 1 &&
                      !(sizes->options & (CS_WITH_BIAS | CS_WITH_LORA));
    CS_REQUIRE(is_allowed, CS_BAD_VALUE,
               "block-aligned FP8 sharding needs sizes that are multiples of %" PRId64
               ", no expert parallelism, no bias and no LoRA: hidden %" PRId64 ", intermediate %" PRId64,
               block, sizes->hidden, sizes->intermediate_full);
    sizes->intermediate = up(sizes->intermediate, block);
    sizes->shards_whole_blocks = true;
    return CS_OK;
}

static enum cs_status round_blocks(struct cs_sizes *sizes, bool takes_refined) {
    if (fits(sizes)) return CS_OK;
    bool is_named = sizes->options & CS_NAMED_BACKEND, is_square = sizes->block[0] == sizes->block[1];
    bool is_refinable = takes_refined && refined_block(sizes) >= FINEST_BLOCK;
    bool is_unaligned = sizes->tp > 1 && sizes->intermediate % sizes->block[0] != 0;
    return is_named && !is_refinable && is_square && is_unaligned ? take_whole_blocks(sizes) : refine(sizes);
}

enum cs_status cs_round_quark_block(struct cs_sizes *sizes) {
    bool is_split = sizes->tp * sizes->ep > 1; /* upstream asks for the size of the whole tensor-parallel group */
    CS_REQUIRE(sizes->intermediate % sizes->block[0] == 0 && (!is_split || sizes->intermediate % sizes->block[1] == 0),
               CS_BAD_VALUE, "intermediate %" PRId64 " per rank is not whole blocks of %" PRId64 " x %" PRId64,
               sizes->intermediate, sizes->block[0], sizes->block[1]);
    return CS_OK;
}

enum cs_status cs_round_fp8_block(struct cs_sizes *sizes) { return round_blocks(sizes, false); }
enum cs_status cs_round_fp8_block_refined(struct cs_sizes *sizes) { return round_blocks(sizes, true); }

/* ---- all of it, in upstream's order ---- */

static enum cs_status shard(struct cs_sizes *sizes) {
    CS_REQUIRE(sizes->hidden_u > 0 && sizes->intermediate_full > 0 && sizes->experts_global > 0 && sizes->tp > 0 &&
                   sizes->ep > 0,
               CS_BAD_VALUE,
               "sizes must be positive: hidden %" PRId64 ", intermediate %" PRId64 ", experts %" PRId64
               ", tp %d, ep %d",
               sizes->hidden_u, sizes->intermediate_full, sizes->experts_global, sizes->tp, sizes->ep);
    CS_REQUIRE(sizes->intermediate_full % sizes->tp == 0, CS_BAD_VALUE,
               "intermediate %" PRId64 " does not divide over tp %d ranks: choose a tp that divides it",
               sizes->intermediate_full, sizes->tp);
    enum { LARGEST = 1 << 30 }; /* keeps every product of two sizes and a multiple far from overflow */
    CS_REQUIRE(sizes->hidden_u <= LARGEST && sizes->intermediate_full <= LARGEST && sizes->experts_global <= LARGEST,
               CS_BAD_VALUE,
               "sizes above %d are not supported: hidden %" PRId64 ", intermediate %" PRId64 ", experts %" PRId64,
               LARGEST, sizes->hidden_u, sizes->intermediate_full, sizes->experts_global);
    sizes->intermediate_u = sizes->intermediate_full / sizes->tp;
    return CS_OK;
}

enum cs_status cs_sizes_resolve(struct cs_sizes *sizes, const struct cs_rounding *rounding) {
    CS_TRY(shard(sizes));
    CS_TRY(cs_all2all_round(sizes->all2all, sizes->hidden_u, &sizes->hidden));
    sizes->intermediate = up(sizes->intermediate_u, rounding->intermediate);
    sizes->hidden = up(sizes->hidden, rounding->hidden);
    return CS_OK;
}

enum cs_status cs_sizes_for_method(struct cs_sizes *sizes, const struct cs_method *method,
                                   const struct cs_backend *backend, bool is_reference) {
    const struct cs_quant *usual = &method->usual;
    sizes->options |= usual->options | backend->options;
    if (!sizes->bits) sizes->bits = usual->bits;
    if (!sizes->group) sizes->group = usual->group;
    if (!sizes->block[0]) sizes->block[0] = sizes->block[1] = usual->block;
    CS_TRY(cs_sizes_resolve(sizes, is_reference && backend->reference.intermediate ? &backend->reference
                                                                                   : &backend->released));
    CS_REQUIRE(!sizes->experts_redundant || cs_method_supports_eplb(method, backend), CS_REFUSED,
               "upstream refuses load balancing of %s with %s (EPLB is not supported): leave redundant experts out",
               method->name, backend->name);
    return backend->round ? backend->round(sizes) : CS_OK;
}

enum cs_status cs_sizes_for_backend(struct cs_sizes *sizes, const struct cs_backend *backend, bool is_reference) {
    return cs_sizes_for_method(sizes, cs_method_by_name(backend->method), backend, is_reference);
}
