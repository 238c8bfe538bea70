/* Rows that run a whole scenario: gpt-oss in TRT-LLM's layout, of more and more layers, and of more and more experts.
 */
#include "sim/bench/internal.h"

#include "sim/audit/audit.h"

/* clang-format off */
static const struct cs_module_template templates[] = {
    {.name = "layers.{layer}.mlp.experts.routed_experts", .is_routed_experts = true, .checkpoint = "layers.{layer}.mlp.experts"}};
static const char *const policies[] = {"record_and_fill"};
static const struct cs_checkpoint_config checkpoints[] = {{.name = "A"}, {.name = "B", .perturbs = "A", .version = 1}};
/* Side tensors move in such a reload, so equal() would not hold. */
static const struct cs_expected no_difference[] = {{.has_count = {[CS_COUNT_params_differ] = true}}};
static const struct cs_op operations[] = {
    {.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = "A"},
    {.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "B"},
    {.kind = CS_OP_EXPECT, .n_expected = CS_COUNT(no_difference), .expected = no_difference},
};
/* clang-format on */

/* Small buffers ask for a quick look: then the model is small too. */
static struct cs_scenario scenario_of(const struct cs_bench *bench, const struct cs_bench_row *row) {
    int64_t width = bench->bytes < 64 << 20 ? 96 : 736;
    return (struct cs_scenario){.file = "bench",
                                .name = row->what,
                                .method = "gpt_oss_mxfp4",
                                .backend = "flashinfer_trtllm",
                                .rounding = "released",
                                .model = {.name = row->what,
                                          .layers = row->layers,
                                          .experts = row->experts,
                                          .hidden = width,
                                          .intermediate = width,
                                          .prefix = "model.",
                                          .n_templates = CS_COUNT(templates),
                                          .templates = templates},
                                .tp = 1,
                                .ep = 1,
                                .n_policies = CS_COUNT(policies),
                                .policies = policies,
                                .allocator = cs_allocator_harshest,
                                .seed = 1,
                                .n_checkpoints = CS_COUNT(checkpoints),
                                .checkpoints = checkpoints,
                                .n_ops = CS_COUNT(operations),
                                .ops = operations};
}

static enum cs_status audit(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct cs_scenario scenario = scenario_of(bench, row);
    struct cs_audit_options options = {.device = bench->device, .policy = policies[0], .seed = scenario.seed};
    struct cs_arena arena = {0};
    struct cs_verdict verdict;
    enum cs_status status = cs_audit_scenario(&scenario, &options, &arena, &verdict);
    if (status == CS_OK && verdict.status != CS_PASSED)
        status = cs_fail(CS_INTERNAL, "bench: %s: %s", row->what, verdict.reason ? verdict.reason : "not passed");
    *bytes = verdict.bytes_moved;
    cs_arena_release(&arena);
    return status;
}

/* clang-format off */
#define GROWTH(what_, layers_, experts_, goal_)                                                                        \
    {.what = "gpt-oss, " what_, .yardstick = CS_BENCH_MEMCPY, .goal = goal_, .run = audit, .layers = layers_, .experts = experts_}
/* clang-format on */

/* At most three times what memcpy takes, where the work is large enough to be byte work. */
const struct cs_bench_row cs_bench_growth_rows[] = {
    GROWTH("1 layer", 1, 8, 0),     GROWTH("2 layers", 2, 8, 0),         GROWTH("4 layers", 4, 8, 0),
    GROWTH("8 layers", 8, 8, 0),    GROWTH("16 layers", 16, 8, 0),       GROWTH("24 layers", 24, 8, 0.33),
    GROWTH("8 experts", 1, 8, 0),   GROWTH("16 experts", 1, 16, 0),      GROWTH("32 experts", 1, 32, 0),
    GROWTH("64 experts", 1, 64, 0), GROWTH("128 experts", 1, 128, 0.33),
};
const size_t cs_bench_n_growths = CS_COUNT(cs_bench_growth_rows);
