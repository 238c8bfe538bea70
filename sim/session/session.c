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
    case CS_COUNT_buffered_bytes:
    case CS_COUNT_fill_calls:
    case CS_COUNT_fill_regions:
    case CS_COUNT_fill_bytes:
    case CS_COUNT_fill_skipped:
    case CS_COUNT_warnings:
    case CS_COUNT_changed: /* laws: only a plan knows where they hold */
    case CS_COUNT_padding_leaks:
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
        .arena = &session->live,
        .log = &session->log,
        .stats = &session->fill,
        .has_prefill = config->has_prefill,
        .prefill = config->prefill,
        .n_modules = session->model.n_modules,
        .modules = CS_NEW_ARRAY(&session->live, struct cs_module, session->model.n_modules),
    };
    CS_REQUIRE(rank->modules && rank->policy, CS_NO_MEMORY, "out of memory for rank %d", index);
    struct cs_memory memory = config->pool ? cs_pool_memory(config->pool) : cs_device_memory(config->device);
    cs_allocator_init(&rank->allocator, &config->allocator, &memory,
                      cs_stream_key(config->garbage_seed, "allocator", (uint64_t)index));
    return CS_OK;
}

static enum cs_status open_ranks(struct cs_session *session) {
    session->log = (struct cs_log){
        .is_tracing = session->config.is_tracing, .probes = session->config.probes, .arena = &session->live};
    session->ranks = CS_NEW_ARRAY(&session->live, struct cs_rank, session->model.n_ranks);
    CS_REQUIRE(session->ranks, CS_NO_MEMORY, "out of memory for %zu ranks", session->model.n_ranks);
    for (size_t r = 0; r < session->model.n_ranks; r++) {
        CS_TRY(open_rank(session, (int)r));
        session->n_ranks++;
    }
    return CS_OK;
}

enum cs_status cs_session_open(struct cs_session *session, const struct cs_session_config *config) {
    *session = (struct cs_session){.config = *config};
    CS_TRY(cs_session_resolve(session));
    CS_TRY(cs_session_checkpoints(session));
    return open_ranks(session);
}

static void close_ranks(struct cs_session *session) {
    for (size_t r = 0; r < session->n_ranks; r++) cs_allocator_close(&session->ranks[r].allocator);
    session->n_ranks = 0;
}

enum cs_status cs_session_restart(struct cs_session *session) {
    close_ranks(session);
    cs_arena_rewind(&session->live);
    session->fill = (struct cs_fill_stats){0};
    session->accounting = (struct cs_accounting){0};
    session->is_unusable = false;
    session->asleep = NULL;
    return open_ranks(session);
}

bool cs_session_walks_names(const struct cs_session *session, const struct cs_op *op) {
    const struct cs_loader *loader = cs_session_loader(session, op->loader);
    return !session->config.scenario->model.is_toy && !(loader && loader->keeps_parameters);
}

/* An expert that lives elsewhere is left untouched, without an error; redundant ones load their own copies. */
static bool next_slot(const struct cs_rank *rank, const struct cs_route *route, int64_t *copy, int64_t *slot) {
    const struct cs_sizes *sizes = &rank->spec->sizes;
    if (route->expert < 0) {
        *slot = -1;
        return (*copy)++ == 0;
    }
    for (int64_t n = cs_load_physical_experts(rank, route->loader);
         *copy * sizes->experts_global + route->expert < n;) {
        *slot = cs_load_slot(rank->spec, route->row, (*copy)++ * sizes->experts_global + route->expert);
        bool is_lost = rank->spec->ep_rank > 0 && cs_rank_has_defect(rank, CS_DEFECT_EXPERTS_OF_RANK_0);
        if (is_lost) *slot = -1;
        if (*slot >= 0) return true;
        cs_load_probe(rank->log, CS_LOAD_PROBE_expert_elsewhere);
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

/* One rank's load on its way. */
struct flow {
    struct cs_session *session;
    const struct cs_op *op;
    const struct cs_driver *driver;
    struct cs_rank *rank;
    struct cs_arrivals *arrivals;
    bool walks_names;
    struct cs_transport transport;
};

static enum cs_status meet_unknown(const struct flow *flow, const struct cs_arrival *arrival) {
    CS_REQUIRE(!flow->walks_names, CS_BAD_VALUE, "rank %d: there is no module or parameter named \"%s\" in %s",
               flow->rank->index, arrival->name, flow->session->model.name);
    return CS_OK;
}

static size_t module_of(const struct cs_arrival *arrival) { return arrival->route ? arrival->route->module : SIZE_MAX; }

/* Where the run of this module's tensors began that the arrival belongs to. */
static int64_t run_of(const struct cs_arrivals *arrivals, size_t i) {
    while (i > 0 && module_of(&arrivals->items[i - 1]) == module_of(&arrivals->items[i])) i--;
    return (int64_t)i;
}

static enum cs_status send(struct flow *flow, size_t index) {
    struct cs_arrival *arrival = &flow->arrivals->items[index];
    const struct cs_route *route = arrival->route;
    if (!route) return meet_unknown(flow, arrival);
    if (arrival->is_unmapped) {
        note_dropped(flow->session, arrival);
        return CS_OK;
    }
    bool is_sent;
    CS_TRY(cs_transport_is_sent(&flow->transport, index, &is_sent));
    for (int64_t copy = 0, slot; is_sent && next_slot(flow->rank, route, &copy, &slot);) {
        struct cs_load_call call = {.module = &flow->rank->modules[route->module],
                                    .loader = route->loader,
                                    .row = route->row,
                                    .toy = route->toy,
                                    .tensor = route->tensor,
                                    .keeps_parameters = !flow->walks_names,
                                    .run = route->row ? 0 : run_of(flow->arrivals, index),
                                    .is_patch = flow->op->is_patch,
                                    .expert = slot};
        CS_TRY(cs_transport_source(&flow->transport, index, &call.source));
        CS_TRY(flow->driver->load(flow->rank, &call, route->param));
        if (call.is_dropped) note_dropped(flow->session, arrival);
    }
    return CS_OK;
}

/* As many as all tensors of the load's form make, sent or not. */
static void want_calls(struct cs_rank *rank, const struct cs_route_set *set) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        rank->modules[m].n_wanted_calls = 0;
        rank->modules[m].has_biases = false;
    }
    for (size_t i = 0; set && i < set->routes.n; i++)
        rank->modules[set->routes.items[i].module].has_biases |= cs_text_matches("*bias", set->routes.items[i].param);
    for (size_t i = 0; set && i < set->routes.n; i++)
        for (int64_t copy = 0, slot; next_slot(rank, &set->routes.items[i], &copy, &slot);)
            rank->modules[set->routes.items[i].module].n_wanted_calls++;
}

/* Whatever part of the checkpoint is sent. */
static void note_absent(struct cs_rank *rank, const struct cs_route_set *set, const struct cs_checkpoint *checkpoint) {
    for (size_t m = 0; m < rank->n_modules; m++) rank->modules[m].lacks_optional = false;
    size_t n = checkpoint && set ? set->routes.n : 0;
    for (size_t i = 0; i < n; i++)
        if (set->routes.items[i].is_optional) rank->modules[set->routes.items[i].module].lacks_optional = true;
    for (size_t i = 0; i < n; i++) {
        const struct cs_route *route = &set->routes.items[i];
        if (route->is_optional && cs_checkpoint_find(checkpoint, route->tensor))
            rank->modules[route->module].lacks_optional = false;
    }
}

static void expect_calls(struct cs_rank *rank, const struct cs_arrivals *arrivals) {
    want_calls(rank, arrivals->set);
    for (size_t m = 0; m < rank->n_modules; m++) rank->modules[m].n_calls = rank->modules[m].n_expected_calls = 0;
    for (size_t i = 0; i < arrivals->n; i++) {
        const struct cs_route *route = arrivals->items[i].route;
        for (int64_t copy = 0, slot; route && next_slot(rank, route, &copy, &slot);)
            rank->modules[route->module].n_expected_calls++;
    }
}

/* Tensors arrive in any order, so a module's worth of them stands for a module. */
static void tell_progress(struct cs_session *session, const struct cs_rank *rank, size_t n_arrived, size_t n,
                          size_t *n_told) {
    size_t n_loaded = n ? rank->n_modules * n_arrived / n : rank->n_modules;
    bool is_heard = session->config.module_is_loaded && cs_session_asks(session, (size_t)rank->index);
    for (; is_heard && *n_told < n_loaded; ++*n_told)
        session->config.module_is_loaded(session->config.progress_context, session->log.bytes_moved);
}

static enum cs_status send_all(struct flow *flow, size_t *n_told) {
    const struct cs_arrivals *arrivals = flow->arrivals;
    while (flow->transport.end < arrivals->n) {
        CS_TRY(cs_transport_next(&flow->transport));
        for (size_t i = flow->transport.first; i < flow->transport.end; i++) {
            tell_progress(flow->session, flow->rank, i, arrivals->n, n_told);
            CS_TRY(send(flow, i));
        }
        CS_TRY(cs_transport_check(&flow->transport));
        if (flow->driver->bucket) CS_TRY(flow->driver->bucket(flow->rank));
    }
    return CS_OK;
}

static enum cs_status run_rank(struct flow *flow) {
    struct cs_rank *rank = flow->rank;
    flow->session->log.rank = rank->index;
    rank->buffered_peak = rank->buffered_bytes;
    rank->replays_records = flow->op->replays_records;
    CS_TRY(cs_transport_open(&flow->transport));
    CS_TRY(flow->driver->begin(rank));
    expect_calls(rank, flow->arrivals);
    if (flow->op->checkpoint)
        note_absent(rank, flow->arrivals->set, cs_session_checkpoint(flow->session, flow->op->checkpoint));
    size_t n_told = 0;
    if (flow->driver->takes == CS_TAKES_KERNEL_TENSORS)
        CS_TRY(cs_session_copy_finished(flow->session, flow->op, rank));
    else
        CS_TRY(send_all(flow, &n_told));
    rank->transport = NULL;
    if (!flow->op->is_stopped) CS_TRY(flow->driver->finish(rank));
    tell_progress(flow->session, rank, flow->arrivals->n, flow->arrivals->n, &n_told);
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

bool cs_session_asks(const struct cs_session *session, size_t rank) {
    return session->config.only_rank < 0 || session->config.only_rank == (int)rank;
}

static struct flow flow_of(struct cs_session *session, const struct cs_op *op, struct cs_arrivals *arrivals,
                           struct cs_arena *scratch, struct cs_rank *rank) {
    return (struct flow){
        .session = session,
        .op = op,
        .driver = cs_driver_by_name(op->driver),
        .rank = rank,
        .arrivals = arrivals,
        .walks_names = cs_session_walks_names(session, op),
        .transport = {.session = session, .op = op, .rank = rank, .arrivals = arrivals, .arena = scratch}};
}

/* One after the other; when one trips, those after it have not begun. */
static enum cs_status run_in_turn(struct flow *flows, size_t n) {
    for (size_t r = 0; r < n; r++)
        if (cs_session_asks(flows[r].session, r)) CS_TRY(run_rank(&flows[r]));
    return CS_OK;
}

static enum cs_status run_member(void *context, size_t rank, struct cs_group *group) {
    struct flow *flow = &((struct flow *)context)[rank];
    flow->rank->group = group;
    enum cs_status status = run_rank(flow);
    flow->rank->group = NULL;
    return status;
}

static enum cs_status run_ranks(struct cs_session *session, const struct cs_op *op, struct cs_arrivals *arrivals,
                                struct cs_arena *scratch) {
    struct flow *flows = CS_NEW_ARRAY(scratch, struct flow, session->n_ranks);
    CS_REQUIRE(flows, CS_NO_MEMORY, "out of memory for the loads of %zu ranks", session->n_ranks);
    for (size_t r = 0; r < session->n_ranks; r++)
        flows[r] = flow_of(session, op, arrivals, scratch, &session->ranks[r]);
    bool is_stuck = false;
    enum cs_status status = session->ranks_meet ? cs_group_run(session->n_ranks, run_member, flows, &is_stuck)
                                                : run_in_turn(flows, session->n_ranks);
    for (size_t r = 0; r < session->n_ranks; r++) session->ranks[r].transport = NULL;
    if (status != CS_OK) session->is_unusable = is_stuck || flows->driver->is_fragile || flows->driver->is_start;
    return status;
}

static enum cs_status run_load(struct cs_session *session, const struct cs_op *op) {
    if (op->kind == CS_OP_RELOAD) session->log.load++;
    session->fill = (struct cs_fill_stats){0};
    struct cs_arena scratch = {0};
    struct cs_arrivals arrivals;
    enum cs_status status = cs_session_arrivals(session, op, &scratch, &arrivals);
    if (status == CS_OK) status = run_ranks(session, op, &arrivals, &scratch);
    cs_arena_release(&scratch);
    note_peak(session);
    return status;
}

enum cs_status cs_session_run(struct cs_session *session, const struct cs_op *op) {
    CS_REQUIRE(!session->is_unusable, CS_REFUSED,
               "an earlier reload failed half-way and there is no rollback: restart the server");
    CS_REQUIRE((session->asleep != NULL) == (op->kind == CS_OP_WAKE), CS_REFUSED, "the server is %s",
               session->asleep ? "asleep: wake it first" : "awake: let it sleep first");
    if (op->kind == CS_OP_SLEEP) return cs_session_sleep(session, op->sleep_level);
    if (op->kind == CS_OP_CAPTURE) return CS_OK; /* the audit's: nothing of the server changes */
    return op->kind == CS_OP_WAKE ? cs_session_wake(session) : run_load(session, op);
}

bool cs_session_waits(const struct cs_session *session) {
    for (size_t r = 0; r < session->n_ranks; r++)
        if (cs_driver_waits(&session->ranks[r])) return true;
    return false;
}

void cs_session_close(struct cs_session *session) {
    close_ranks(session);
    for (size_t i = 0; i < session->n_checkpoints; i++) cs_checkpoint_close(&session->checkpoints[i]);
    cs_arena_release(&session->live);
    cs_arena_release(&session->arena);
    *session = (struct cs_session){0};
}
