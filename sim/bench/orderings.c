/* Orderings: how many times a second one thread builds a server, loads A, runs post-load, reloads B layer by layer, and
 * compares with a kept state of B. The checkpoints' bytes are made before, as those of the peer are. */
#include "sim/bench/bench.h"

#include <string.h>
#include <time.h>

#include "sim/audit/audit.h"

/* clang-format off */
static const struct cs_module_template experts_only[] = {
    {.name = "layers.{layer}.mlp.experts.routed_experts", .is_routed_experts = true, .checkpoint = "layers.{layer}.mlp.experts"}};
static const char *const policies[] = {"record_and_fill"};
static const struct cs_checkpoint_config checkpoints[] = {{.name = "A"}, {.name = "B", .perturbs = "A", .version = 1}};

static const struct row {
    const char *what, *method, *backend;
    int64_t layers, experts, hidden, intermediate;
    double peer, times; /* orderings a second that were published of the peer, and how many times as many are the goal */
    double goal;        /* where there is no peer */
} rows[] = { /* named as tests/peer/reload_peer.py names them */
    {"bf16, 8 experts, 512 x 256",             "unquantized",   "triton",            2, 8, 512, 256, 10, 10, 0},
    {"bf16 trtllm, 8 experts, 512 x 256",      "unquantized",   "flashinfer_trtllm", 2, 8, 512, 256, 10, 10, 0},
    {"gpt-oss, 4 experts, padded 256 x 128",   "gpt_oss_mxfp4", "flashinfer_trtllm", 2, 4, 224, 96,  65, 30, 0},
    {"bf16 minimal, 2 experts, 64 x 64",       "unquantized",   "triton",            1, 2, 64,  64,  0,  0,  4000},
};
/* clang-format on */

static struct cs_scenario scenario_of(const struct row *row) {
    return (struct cs_scenario){.file = "bench",
                                .name = row->what,
                                .method = row->method,
                                .backend = row->backend,
                                .rounding = "released",
                                .model = {.name = row->what,
                                          .layers = row->layers,
                                          .experts = row->experts,
                                          .hidden = row->hidden,
                                          .intermediate = row->intermediate,
                                          .prefix = "model.",
                                          .n_templates = CS_COUNT(experts_only),
                                          .templates = experts_only},
                                .tp = 1,
                                .ep = 1,
                                .n_policies = CS_COUNT(policies),
                                .policies = policies,
                                .n_checkpoints = CS_COUNT(checkpoints),
                                .checkpoints = checkpoints};
}

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

struct ordering {
    struct cs_session session;
    struct cs_arena kept_arena, scratch;
    const struct cs_kept *kept;
};

static enum cs_status start(struct ordering *ordering, const char *checkpoint) {
    const struct cs_op op = {.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = checkpoint};
    CS_TRY(cs_session_restart(&ordering->session));
    return cs_session_run(&ordering->session, &op);
}

static enum cs_status run_once(struct ordering *ordering) {
    const struct cs_op reload = {.kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = "B"};
    int64_t n_differ;
    CS_TRY(start(ordering, "A"));
    CS_TRY(cs_session_run(&ordering->session, &reload));
    cs_arena_rewind(&ordering->scratch);
    CS_TRY(cs_kept_compare(ordering->kept, &ordering->session, &ordering->scratch, &n_differ));
    CS_REQUIRE(n_differ == 0, CS_INTERNAL, "an ordering differs from the cold start in %" PRId64 " tensors", n_differ);
    return CS_OK;
}

static enum cs_status measure(struct ordering *ordering, double seconds, double *rate) {
    CS_TRY(start(ordering, "B"));
    CS_TRY(cs_kept_make(&ordering->session, &ordering->kept_arena, &ordering->kept));
    for (int i = 0; i < 3; i++) CS_TRY(run_once(ordering));
    *rate = 0;
    for (int batch = 0; batch < 5; batch++) { /* the best of five: a shared machine only ever adds time */
        int64_t n = 0;
        double begin = now_seconds(), now = begin;
        for (; now - begin < seconds / 5; now = now_seconds(), n++) CS_TRY(run_once(ordering));
        if ((double)n / (now - begin) > *rate) *rate = (double)n / (now - begin);
    }
    return CS_OK;
}

/* Undefined memory is left as it is: a real server writes nothing there, nor does the peer. */
static enum cs_status leave(void *context, struct cs_storage *storage, const struct cs_content *content) {
    (void)context, (void)storage, (void)content;
    return CS_OK;
}

static enum cs_status measure_row(const struct row *row, const struct cs_device *device, double seconds,
                                  double *rate) {
    const struct cs_scenario scenario = scenario_of(row);
    struct cs_memory memory = cs_device_memory(device);
    struct cs_pool pool;
    memory.write = leave;
    cs_pool_init(&pool, &memory);
    const struct cs_session_config config = {.scenario = &scenario,
                                             .device = device,
                                             .policy = policies[0],
                                             .seed = 1,
                                             .only_rank = -1,
                                             .pool = &pool};
    struct ordering ordering = {0};
    enum cs_status status = cs_session_open(&ordering.session, &config);
    if (status == CS_OK) status = cs_session_keep_checkpoints(&ordering.session);
    if (status == CS_OK) status = measure(&ordering, seconds, rate);
    cs_session_close(&ordering.session);
    cs_arena_release(&ordering.kept_arena);
    cs_arena_release(&ordering.scratch);
    cs_pool_close(&pool);
    return status;
}

static const struct row *kept_row(const char *filter, size_t i) {
    for (size_t at = 0; at < CS_COUNT(rows); at++) {
        bool is_kept = !filter || strstr(rows[at].what, filter);
        if (is_kept && i-- == 0) return &rows[at];
    }
    return NULL;
}

bool cs_bench_ordering_row(const char *filter, size_t i, struct cs_bench_ordering *row) {
    const struct row *kept = kept_row(filter, i);
    if (kept) *row = (struct cs_bench_ordering){kept->what, 0, kept->peer, kept->times, kept->goal};
    return kept != NULL;
}

enum cs_status cs_bench_orderings(const struct cs_device *device, const char *filter, cs_bench_show_orderings *show,
                                  void *context) {
    enum { SECONDS = 2 };
    struct cs_bench_ordering result;
    for (size_t i = 0; cs_bench_ordering_row(filter, i, &result); i++) {
        CS_TRY(measure_row(kept_row(filter, i), device, SECONDS, &result.rate));
        show(context, &result);
    }
    return CS_OK;
}
