#include "sim/session/internal.h"

const char *const cs_count_names[CS_N_COUNTS] = {
#define X(name, text) [CS_COUNT_##name] = #name,
    CS_COUNTS(X)
#undef X
};
const char *const cs_count_texts[CS_N_COUNTS] = {
#define X(name, text) [CS_COUNT_##name] = (text),
    CS_COUNTS(X)
#undef X
};

bool cs_count_is_channel(enum cs_count count) {
    switch (count) {
    case CS_COUNT_params_lucky: /* a lucky tensor makes a verdict mistrusted, not failed */
    case CS_COUNT_gap_bytes:    /* legitimate (R7) */
    case CS_COUNT_fill_calls:
    case CS_COUNT_fill_regions:
    case CS_COUNT_fill_bytes:
    case CS_COUNT_fill_skipped:
    case CS_COUNT_warnings:
        return false;
    default:
        return true;
    }
}

static enum cs_status open_rank(struct cs_session *session, int index) {
    const struct cs_session_config *config = &session->config;
    struct cs_rank *rank = &session->ranks[index];
    *rank = (struct cs_rank){
        .index = index,
        .spec = &session->model.ranks[index],
        .device = config->device,
        .policy = cs_policy_by_name(config->policy),
        .defects = config->scenario->defects,
        .arena = &session->arena,
        .log = &session->log,
        .stats = &session->fill,
        .has_prefill = config->has_prefill,
        .prefill = config->prefill,
        .n_modules = session->model.n_modules,
        .modules = CS_NEW_ARRAY(&session->arena, struct cs_module, session->model.n_modules),
    };
    CS_REQUIRE(rank->modules && rank->policy, CS_NO_MEMORY, "out of memory for rank %d", index);
    struct cs_memory memory = config->pool ? cs_pool_memory(config->pool) : cs_device_memory(config->device);
    cs_allocator_init(&rank->allocator, &config->allocator, &memory,
                      cs_stream_key(config->garbage_seed, "allocator", (uint64_t)index));
    return CS_OK;
}

enum cs_status cs_session_open(struct cs_session *session, const struct cs_session_config *config) {
    *session = (struct cs_session){.config = *config};
    session->log = (struct cs_log){.is_tracing = config->is_tracing, .arena = &session->arena};
    CS_TRY(cs_session_resolve(session));
    CS_TRY(cs_session_checkpoints(session));
    session->ranks = CS_NEW_ARRAY(&session->arena, struct cs_rank, session->model.n_ranks);
    CS_REQUIRE(session->ranks, CS_NO_MEMORY, "out of memory for %zu ranks", session->model.n_ranks);
    for (size_t r = 0; r < session->model.n_ranks; r++) {
        CS_TRY(open_rank(session, (int)r));
        session->n_ranks++;
    }
    return CS_OK;
}

static enum cs_status source_of(const struct cs_session *session, const struct cs_arrival *arrival,
                                const struct cs_op *op, struct cs_rank *rank, struct cs_view *source) {
    CS_TRY(
        cs_checkpoint_source(cs_session_checkpoint(session, op->checkpoint), arrival->entry, &rank->allocator, source));
    return arrival->is_slice ? cs_view_select(source, 0, arrival->route->expert) : CS_OK;
}

/* An expert that lives elsewhere is left untouched, without an error; redundant ones load their own copies. */
static bool next_slot(const struct cs_rank *rank, const struct cs_route *route, int64_t *copy, int64_t *slot) {
    const struct cs_sizes *sizes = &rank->spec->sizes;
    if (route->expert < 0) {
        *slot = -1;
        return (*copy)++ == 0;
    }
    for (int64_t n = sizes->experts_global + sizes->experts_redundant;
         *copy * sizes->experts_global + route->expert < n;) {
        *slot = cs_load_slot(rank->spec, route->row, (*copy)++ * sizes->experts_global + route->expert);
        if (*slot >= 0) return true;
    }
    return false;
}

/* A tensor that a driver dropped was consumed by no loader: counted once, however many ranks dropped it. */
static void note_dropped(struct cs_session *session, struct cs_arrival *arrival) {
    if (arrival->is_dropped) return;
    arrival->is_dropped = true;
    session->accounting.excess++;
    if (!session->accounting.first_excess) session->accounting.first_excess = arrival->route->tensor;
}

static enum cs_status send(struct cs_session *session, const struct cs_driver *driver, const struct cs_op *op,
                           struct cs_arrival *arrival, struct cs_rank *rank) {
    const struct cs_route *route = arrival->route;
    for (int64_t copy = 0, slot; next_slot(rank, route, &copy, &slot);) {
        struct cs_load_call call = {.module = &rank->modules[route->module],
                                    .loader = route->loader,
                                    .row = route->row,
                                    .toy = route->toy,
                                    .tensor = route->tensor,
                                    .expert = slot};
        CS_TRY(source_of(session, arrival, op, rank, &call.source));
        CS_TRY(driver->load(rank, &call, route->param));
        if (call.is_dropped) note_dropped(session, arrival);
    }
    return CS_OK;
}

static void expect_calls(struct cs_rank *rank, const struct cs_arrivals *arrivals) {
    for (size_t m = 0; m < rank->n_modules; m++) rank->modules[m].n_calls = rank->modules[m].n_expected_calls = 0;
    for (size_t i = 0; i < arrivals->n; i++) {
        int64_t copy = 0, slot;
        while (next_slot(rank, arrivals->items[i].route, &copy, &slot))
            rank->modules[arrivals->items[i].route->module].n_expected_calls++;
    }
}

/* Tensors arrive in any order, so a module's worth of them stands for a module. */
static void tell_progress(struct cs_session *session, const struct cs_rank *rank, size_t n_arrived, size_t n,
                          size_t *n_told) {
    size_t n_loaded = n ? rank->n_modules * n_arrived / n : rank->n_modules;
    for (; session->config.module_is_loaded && *n_told < n_loaded; ++*n_told)
        session->config.module_is_loaded(session->config.progress_context, session->log.bytes_moved);
}

static enum cs_status run_rank(struct cs_session *session, const struct cs_driver *driver, const struct cs_op *op,
                               struct cs_arrivals *arrivals, struct cs_rank *rank) {
    session->log.rank = rank->index;
    CS_TRY(driver->begin(rank));
    expect_calls(rank, arrivals);
    size_t n_told = 0;
    for (size_t i = 0; i < arrivals->n; i++) {
        tell_progress(session, rank, i, arrivals->n, &n_told);
        CS_TRY(send(session, driver, op, &arrivals->items[i], rank));
    }
    CS_TRY(driver->finish(rank));
    tell_progress(session, rank, arrivals->n, arrivals->n, &n_told);
    return CS_OK;
}

static void note_peak(struct cs_session *session) {
    size_t bytes = 0;
    for (size_t r = 0; r < session->n_ranks; r++) bytes += session->ranks[r].allocator.bytes_peak;
    session->bytes_peak = bytes;
}

enum cs_status cs_session_can_load(struct cs_session *session, const struct cs_op *op) {
    struct cs_arena scratch = {0};
    struct cs_arrivals arrivals;
    enum cs_status status = cs_session_arrivals(session, op, &scratch, &arrivals);
    cs_arena_release(&scratch);
    return status;
}

enum cs_status cs_session_run(struct cs_session *session, const struct cs_op *op) {
    CS_REQUIRE(!session->is_unusable, CS_REFUSED,
               "an earlier reload failed half-way and there is no rollback: restart the server");
    const struct cs_driver *driver = cs_driver_by_name(op->driver);
    if (op->kind == CS_OP_RELOAD) session->log.load++;
    session->fill = (struct cs_fill_stats){0};
    struct cs_arena scratch = {0};
    struct cs_arrivals arrivals;
    enum cs_status status = cs_session_arrivals(session, op, &scratch, &arrivals);
    for (size_t r = 0; status == CS_OK && r < session->n_ranks; r++) {
        bool is_here = session->config.only_rank < 0 || session->config.only_rank == (int)r;
        if (is_here) status = run_rank(session, driver, op, &arrivals, &session->ranks[r]);
        session->is_unusable = status != CS_OK;
    }
    cs_arena_release(&scratch);
    note_peak(session);
    return status;
}

void cs_session_close(struct cs_session *session) {
    for (size_t r = 0; r < session->n_ranks; r++) cs_allocator_close(&session->ranks[r].allocator);
    for (size_t i = 0; i < session->n_checkpoints; i++) cs_checkpoint_close(&session->checkpoints[i]);
    cs_arena_release(&session->arena);
    *session = (struct cs_session){0};
}
