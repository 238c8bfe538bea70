/* Rows that run servers of gpt-oss in TRT-LLM's layout: post-load and padding of the whole model, a reload with and
 * without its padding recorded, and whole scenarios of more and more layers and experts. */
#include "sim/bench/internal.h"

#include "sim/audit/audit.h"

/* ---- the scenario ---- */

/* clang-format off */
static const struct cs_module_template templates[] = {
    {.name = "layers.{layer}.mlp.experts.routed_experts", .is_routed_experts = true, .checkpoint = "layers.{layer}.mlp.experts"}};
static const char *const policies[] = {"record_and_fill", "none"};
static const struct cs_checkpoint_config checkpoints[] = {{.name = "A"}, {.name = "B", .perturbs = "A", .version = 1}};
/* Side tensors move in such a reload, so equal() would not hold; without a policy, parameters differ too. */
static const struct cs_expected expected[] = {{.policy = "record_and_fill", .has_count = {[CS_COUNT_params_differ] = true}},
                                              {.policy = "none", .has_count = {[CS_COUNT_missing] = true}}};
static const struct cs_op operations[] = {
    {.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = "A"},
    {.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "B"},
    {.kind = CS_OP_EXPECT, .n_expected = CS_COUNT(expected), .expected = expected},
};
/* clang-format on */

struct cs_scenario cs_bench_scenario(const struct cs_bench_row *row, const struct cs_backend *backend, int64_t layers,
                                     int64_t experts, int64_t width) {
    return (struct cs_scenario){.file = "bench",
                                .name = row->what,
                                .method = backend->method,
                                .backend = backend->name,
                                .rounding = "reference",
                                .model = {.name = row->what,
                                          .layers = layers,
                                          .experts = experts,
                                          .hidden = width,
                                          .intermediate = width,
                                          .prefix = "model.",
                                          .n_templates = CS_COUNT(templates),
                                          .templates = templates},
                                .tp = 1,
                                .ep = 1,
                                .n_policies = CS_COUNT(policies),
                                .policies = policies,
                                .allocator = {.recycle_up_to = 64 << 20}, /* fresh pages are zero (R4.1) */
                                .seed = 1,
                                .n_checkpoints = CS_COUNT(checkpoints),
                                .checkpoints = checkpoints,
                                .n_ops = CS_COUNT(operations),
                                .ops = operations};
}

/* Small buffers ask for a quick look, then the model is small too; large ones for gpt-oss-20b as it is. */
static struct cs_scenario scenario_of(const struct cs_bench *bench, const struct cs_bench_row *row) {
    bool is_small = bench->bytes < 64 << 20, is_full = bench->bytes >= UINT64_C(4) << 30;
    const struct cs_backend *backend = cs_backend_by_name(cs_method_by_name("gpt_oss_mxfp4"), "flashinfer_trtllm");
    int64_t experts = row->experts > 8 && !is_full && row->layers > 1 ? 8 : row->experts;
    return cs_bench_scenario(row, backend, row->layers, experts, is_small ? 96 : is_full ? 2880 : 736);
}

/* ---- a server ---- */

static enum cs_status leave(void *context, struct cs_storage *storage, const struct cs_content *content) {
    (void)context, (void)storage, (void)content;
    return CS_OK;
}

enum cs_status cs_bench_open_server(struct cs_bench *bench, const char *policy) {
    const struct cs_session_config config = {.scenario = &bench->scenario,
                                             .device = bench->device,
                                             .policy = policy,
                                             .allocator = bench->scenario.allocator,
                                             .seed = bench->scenario.seed,
                                             .only_rank = -1,
                                             .pool = &bench->pool};
    bench->has_server = true;
    CS_TRY(cs_session_open(&bench->server, &config));
    bench->server.ranks[0].allocator.memory.write = leave;
    return CS_OK;
}

void cs_bench_close_server(struct cs_bench *bench) {
    if (bench->has_server) cs_session_close(&bench->server);
    bench->has_server = false;
}

/* A parameter may have two names, and one that is retired is nobody's any more. */
static bool counts(const struct cs_module *module, size_t i) {
    const struct cs_param *param = module->slots[i].param;
    if (!param || !param->view.storage || param->is_retired) return false;
    for (size_t earlier = 0; earlier < i; earlier++)
        if (module->slots[earlier].param == param) return false;
    return true;
}

int64_t cs_bench_server_bytes(const struct cs_bench *bench) {
    const struct cs_rank *rank = &bench->server.ranks[0];
    int64_t bytes = 0;
    for (size_t m = 0; m < rank->n_modules; m++)
        for (size_t i = 0; i < rank->modules[m].n_slots; i++)
            if (counts(&rank->modules[m], i)) bytes += (int64_t)cs_view_span_bytes(&rank->modules[m].slots[i].param->view);
    return bytes;
}

enum cs_status cs_bench_create(struct cs_bench *bench) {
    return cs_driver_by_name("cold_start")->begin(&bench->server.ranks[0]);
}

enum cs_status cs_bench_finish(struct cs_bench *bench, int64_t *bytes) {
    *bytes = cs_bench_server_bytes(bench);
    CS_TRY(cs_driver_by_name("cold_start")->finish(&bench->server.ranks[0]));
    *bytes += cs_bench_server_bytes(bench);
    return CS_OK;
}

/* ---- post-load, reload ---- */

static enum cs_status create(struct cs_bench *bench, const struct cs_bench_row *row) {
    bench->scenario = scenario_of(bench, row);
    CS_TRY(cs_bench_open_server(bench, row->policy));
    return cs_bench_create(bench);
}

static enum cs_status post_load(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    (void)row;
    return cs_bench_finish(bench, bytes);
}

static enum cs_status start(struct cs_bench *bench, const struct cs_bench_row *row) {
    bench->scenario = scenario_of(bench, row);
    CS_TRY(cs_bench_open_server(bench, row->policy));
    return cs_session_run(&bench->server, &operations[0]);
}

/* Bytes of the model, not those that a policy moves as well: two reloads of one model compare by time. */
static enum cs_status reload(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    (void)row;
    *bytes = 2 * cs_bench_server_bytes(bench);
    return cs_session_run(&bench->server, &operations[1]);
}

/* ---- whole scenarios ---- */

static enum cs_status audit(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct cs_scenario scenario = scenario_of(bench, row);
    struct cs_audit_options options = {
        .device = bench->device, .policy = row->policy, .seed = scenario.seed, .pool = &bench->pool};
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
#define MODEL .layers = 24, .experts = 32
#define WHOLE(what_, layers_, experts_, policy_, ...)                                                                  \
    {.what = what_, .yardstick = CS_BENCH_MEMCPY, .run = audit, .layers = layers_, .experts = experts_, .policy = policy_, .goal = {__VA_ARGS__}}
#define GROWTH(what_, layers_, experts_, ...) WHOLE("gpt-oss, " what_, layers_, experts_, "record_and_fill", __VA_ARGS__)

/* Goals: post-load of gpt-oss-20b in 8 ms on a device that copies 4.2 TB/s; padding in 1.25 times what plain writes of
 * the same runs take; a fill adds at most a tenth to a reload; a
 * whole scenario takes at most three times what memcpy takes, where the work is large enough to be byte work. */
const struct cs_bench_row cs_bench_server_rows[] = {
    {.what = "post-load of 24 layers", .yardstick = CS_BENCH_MEMCPY, .goal = {0, 0.68}, .prepare = create, .run = post_load,
     .clean = cs_bench_close_server, MODEL, .policy = "none"},
    {.what = "padding of 24 layers, one fill", .yardstick = CS_BENCH_SAME_RUNS, .goal = {0, 0.80}, .prepare = create,
     .run = cs_bench_fill_padding,
     .clean = cs_bench_close_server, MODEL, .policy = "none"},
    {.what = "reload, record_and_fill", .yardstick = CS_BENCH_NO_POLICY, .goal = {0, 0.91}, .prepare = start, .run = reload,
     .clean = cs_bench_close_server, MODEL, .policy = "record_and_fill"},
    WHOLE("gpt-oss, sync without a cure", 24, 32, "none", 0, 0.33),
    GROWTH("1 layer", 1, 8, 0, 0),     GROWTH("2 layers", 2, 8, 0, 0),         GROWTH("4 layers", 4, 8, 0, 0),
    GROWTH("8 layers", 8, 8, 0, 0),    GROWTH("16 layers", 16, 8, 0, 0),       GROWTH("24 layers", 24, 8, 0.33, 0.33),
    GROWTH("8 experts", 1, 8, 0, 0),   GROWTH("16 experts", 1, 16, 0, 0),      GROWTH("32 experts", 1, 32, 0, 0),
    GROWTH("64 experts", 1, 64, 0, 0), GROWTH("128 experts", 1, 128, 0.33, 0.33),
};
/* clang-format on */
const size_t cs_bench_n_servers = CS_COUNT(cs_bench_server_rows);
