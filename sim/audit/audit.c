/* Runs a scenario and judges each expectation against a cold start. Three passes, one after the other, so that only one
 * server is in memory at a time: cold starts of what is expected, module by module, as digests; the plan over other
 * garbage (R8.3), as digests; the plan itself, judged as it runs. */
#include "sim/audit/expect.h"

#include <string.h>
#include <time.h>

/* A cold start that was made once: digests over the declared memory and over other garbage. */
struct cold {
    struct cold *next;
    const char *checkpoint, *policy;
    struct cs_state declared, garbage;
};

struct audit {
    const struct cs_scenario *scenario;
    const struct cs_audit_options *options;
    struct cs_arena *arena;  /* of the verdict */
    struct cs_arena scratch; /* of states */
    struct cs_pool own_pool, *pool;
    struct cs_verdict *verdict;
    struct cs_session live;
    struct cs_state own_cold; /* of `live`, after its cold start */
    struct cs_graph *graphs;  /* captured then */
    struct cs_state *garbage; /* one for each operation; those of expectations that the plan over other garbage reached
                                 have entries */
    struct cold *colds;
    const char *checkpoint; /* that the server should hold */
    const char *refusal;    /* of the load before; NULL: it went well */
    struct cs_state before; /* at the expectation before; empty at the first */
    size_t n_noted;         /* tensors of states so far, for recording and reference */
    int64_t device_differ;
    const char *device_first; /* the first of them */
    size_t n_cold;            /* tensors of cold starts so far */
    int64_t *n_excused;       /* by declaration */
    const char *cold_first;   /* the first that is not as in reference_cold */
    int64_t bytes_moved, bytes_peak;
    int64_t modules_loaded, modules_total; /* of all passes, for progress */
};

static void module_is_loaded(void *context, int64_t session_bytes) {
    struct audit *audit = context;
    const struct cs_audit_options *options = audit->options;
    audit->modules_loaded++;
    if (options->progress)
        options->progress(options->progress_context, audit->modules_loaded, audit->modules_total,
                          audit->bytes_moved + session_bytes);
}

static struct cs_session_config config_of(struct audit *audit, const char *policy, bool is_garbage) {
    return (struct cs_session_config){
        .scenario = audit->scenario,
        .device = audit->options->device,
        .policy = policy,
        .allocator = is_garbage ? cs_allocator_harshest : audit->scenario->allocator,
        .seed = audit->options->seed,
        .garbage_seed = audit->options->seed + (is_garbage ? UINT64_C(0x9e3779b97f4a7c15) : 0),
        .only_rank = audit->scenario->has_only_rank ? audit->scenario->only_rank : -1,
        .pool = audit->pool,
        .module_is_loaded = module_is_loaded,
        .progress_context = audit,
    };
}

static void close_session(struct audit *audit, struct cs_session *session) {
    audit->bytes_moved += session->log.bytes_moved;
    if ((int64_t)session->bytes_peak > audit->bytes_peak) audit->bytes_peak = (int64_t)session->bytes_peak;
    cs_session_close(session);
}

/* ---- states, beside those of another device ---- */

static enum cs_status record(struct cs_recording *recording, const struct cs_entry *entry) {
    uint64_t *added = cs_arena_grow(recording->arena, (void **)&recording->digests, recording->n, &recording->capacity,
                                    sizeof *added);
    CS_REQUIRE(added, CS_NO_MEMORY, "out of memory for a recording of %zu digests", recording->n);
    *added = entry->digest;
    recording->n++;
    return CS_OK;
}

static void compare_device(struct audit *audit, const struct cs_entry *entry) {
    const struct cs_recording *reference = audit->options->reference;
    bool is_same = audit->n_noted < reference->n && reference->digests[audit->n_noted] == entry->digest;
    if (is_same) return;
    audit->device_differ++;
    if (!audit->device_first)
        audit->device_first =
            cs_arena_format(audit->arena, "%s.%s of rank %d", entry->spec->name, entry->name, entry->rank);
}

/* Entries `first` and later of a state are new. */
static enum cs_status note_state(struct audit *audit, const struct cs_state *state, size_t first) {
    for (size_t i = first; i < state->n; i++, audit->n_noted++) {
        if (audit->options->recording) CS_TRY(record(audit->options->recording, &state->entries[i]));
        if (audit->options->reference) compare_device(audit, &state->entries[i]);
    }
    return CS_OK;
}

/* Cold starts over the declared memory: what every later state is compared with. */
static enum cs_status note_cold_state(struct audit *audit, const struct cs_state *state) {
    const struct cs_recording *right = audit->options->reference_cold;
    for (size_t i = 0; i < state->n; i++, audit->n_cold++) {
        const struct cs_entry *entry = &state->entries[i];
        if (audit->options->recording_cold) CS_TRY(record(audit->options->recording_cold, entry));
        bool is_same = !right || (audit->n_cold < right->n && right->digests[audit->n_cold] == entry->digest);
        if (!is_same && !audit->cold_first)
            audit->cold_first =
                cs_arena_format(audit->arena, "%s.%s of rank %d", entry->spec->name, entry->name, entry->rank);
    }
    return CS_OK;
}

static enum cs_status capture(struct audit *audit, struct cs_session *session, struct cs_state *state) {
    size_t first = state->n;
    CS_TRY(cs_state_capture(session, true, state));
    return note_state(audit, state, first);
}

/* ---- cold starts ---- */

/* Adds what a cold start holds: of one module, from a session that holds nothing else, or of all (SIZE_MAX). */
static enum cs_status add_cold(struct audit *audit, const struct cs_session_config *config, size_t module,
                               struct cs_state *state) {
    struct cs_session session;
    size_t before = state->n;
    enum cs_status status = cs_cold_session(config, audit->checkpoint, &session);
    if (status == CS_OK) status = capture(audit, &session, state);
    for (size_t i = before; i < state->n; i++) {
        struct cs_entry *entry = &state->entries[i];
        if (module != SIZE_MAX) entry->module = module;
        entry->spec = &audit->live.model.ranks[entry->rank].modules[entry->module]; /* its own went with the session */
    }
    close_session(audit, &session);
    return status;
}

static enum cs_status cold_state(struct audit *audit, const char *policy, bool is_garbage, struct cs_state *state) {
    struct cs_session_config config = config_of(audit, policy, is_garbage);
    int only_rank = config.only_rank;
    *state = (struct cs_state){.arena = &audit->scratch};
    if (audit->options->is_quick) return add_cold(audit, &config, SIZE_MAX, state);
    bool is_together = audit->live.ranks_meet;
    for (size_t r = 0; r < (is_together ? 1 : audit->live.model.n_ranks); r++)
        for (size_t m = 0; (only_rank < 0 || only_rank == (int)r) && m < audit->live.model.n_modules; m++) {
            config.only_module = audit->live.model.ranks[r].modules[m].name;
            config.only_rank = is_together ? -1 : (int)r;
            CS_TRY(add_cold(audit, &config, m, state));
        }
    return CS_OK;
}

static struct cold *find_cold(const struct audit *audit, const char *policy) {
    for (struct cold *cold = audit->colds; cold; cold = cold->next)
        if (cs_text_equal(cold->checkpoint, audit->checkpoint) && cs_text_equal(cold->policy, policy)) return cold;
    return NULL;
}

static const char *cold_policy_of(const struct audit *audit, const struct cs_op *op) {
    return op->against_policy ? op->against_policy : audit->options->policy;
}

static enum cs_status note_cold(struct audit *audit, const char *policy) {
    if (find_cold(audit, policy)) return CS_OK;
    struct cold *cold = CS_NEW(&audit->scratch, struct cold), **end = &audit->colds;
    CS_REQUIRE(cold, CS_NO_MEMORY, "out of memory for a cold start of %s", audit->checkpoint);
    cold->checkpoint = audit->checkpoint;
    cold->policy = policy;
    while (*end) end = &(*end)->next;
    *end = cold;
    return CS_OK;
}

static bool expects_refusal(const struct audit *audit, const struct cs_op *op) {
    return cs_expected_for(op, audit->options->policy)->is_refused;
}

static bool needs_cold(const struct audit *audit, const struct cs_op *op) {
    const struct cs_expected *expected = cs_expected_for(op, audit->options->policy);
    return !expected->is_refused && !cs_expected_asks_devices_only(expected);
}

static bool is_load(const struct cs_op *op) { return op->kind == CS_OP_COLD_START || op->kind == CS_OP_RELOAD; }

/* A start with random numbers names none. */
static void note_checkpoint(struct audit *audit, const struct cs_op *op) {
    if (op->checkpoint) audit->checkpoint = op->checkpoint;
}

/* Which cold starts the expectations need, and how many modules all passes load. */
static enum cs_status plan_passes(struct audit *audit) {
    int64_t n_servers = 0;
    for (size_t i = 0; i < audit->scenario->n_ops; i++) {
        const struct cs_op *op = &audit->scenario->ops[i];
        if (is_load(op)) {
            note_checkpoint(audit, op);
            n_servers += 2; /* the plan, and over other garbage */
        } else if (op->kind == CS_OP_EXPECT && needs_cold(audit, op)) {
            CS_TRY(note_cold(audit, cold_policy_of(audit, op)));
        }
    }
    if (!audit->colds) n_servers /= 2; /* the plan alone */
    for (const struct cold *cold = audit->colds; cold; cold = cold->next) n_servers += 2;
    size_t n_ranks = audit->scenario->has_only_rank ? 1 : audit->live.model.n_ranks;
    audit->modules_total = n_servers * (int64_t)(n_ranks * audit->live.model.n_modules);
    return CS_OK;
}

static enum cs_status make_colds(struct audit *audit) {
    for (struct cold *cold = audit->colds; cold; cold = cold->next) {
        audit->checkpoint = cold->checkpoint;
        CS_TRY(cold_state(audit, cold->policy, false, &cold->declared));
        CS_TRY(note_cold_state(audit, &cold->declared));
        CS_TRY(cold_state(audit, cold->policy, true, &cold->garbage));
    }
    return CS_OK;
}

/* ---- the plan over other garbage ---- */

/* Stops where a load is refused: the plan itself will meet the same refusal, and speak of it. */
static enum cs_status run_garbage(struct audit *audit) {
    struct cs_session_config config = config_of(audit, audit->options->policy, true);
    struct cs_session session;
    if (!audit->colds) return CS_OK; /* nobody asks */
    audit->garbage = CS_NEW_ARRAY(&audit->scratch, struct cs_state, audit->scenario->n_ops);
    CS_REQUIRE(audit->garbage, CS_NO_MEMORY, "out of memory for %zu states", audit->scenario->n_ops);
    enum cs_status status = cs_session_open(&session, &config);
    for (size_t i = 0; status == CS_OK && i < audit->scenario->n_ops; i++) {
        const struct cs_op *op = &audit->scenario->ops[i];
        audit->garbage[i].arena = &audit->scratch;
        status = op->kind == CS_OP_EXPECT ? capture(audit, &session, &audit->garbage[i]) : cs_session_run(&session, op);
    }
    close_session(audit, &session);
    return status == CS_NO_MEMORY || status == CS_INTERNAL ? status : CS_OK;
}

/* ---- the plan ---- */

static enum cs_status give_verdict(struct audit *audit, enum cs_verdict_status status, const char *reason) {
    audit->verdict->status = status;
    audit->verdict->reason = reason;
    return CS_OK;
}

/* A load that raised, as a server's would: the scenario may expect it. Bad files and lack of memory are no matter of
 * the scenario. */
static bool is_refusal(enum cs_status status) {
    return status == CS_REFUSED || status == CS_BAD_SHAPE || status == CS_BAD_INDEX || status == CS_BAD_VALUE ||
           status == CS_BAD_TYPE;
}

/* Whether the next operation judges this one. */
static const struct cs_expected *judged_by(const struct audit *audit, const struct cs_op *op) {
    bool is_judged = op + 1 < audit->scenario->ops + audit->scenario->n_ops && op[1].kind == CS_OP_EXPECT;
    return is_judged ? cs_expected_for(op + 1, audit->options->policy) : NULL;
}

/* Where everything is after the start, for addresses and graphs. */
static enum cs_status note_start(struct audit *audit) {
    CS_TRY(cs_state_capture(&audit->live, false, &audit->own_cold));
    return cs_graphs_capture(&audit->live, &audit->own_cold, &audit->graphs);
}

/* A reload that raises is a verdict. So is a start, when the scenario expects it; else it is a mistake of whoever wrote
 * the scenario. */
static enum cs_status run_load(struct audit *audit, const struct cs_op *op) {
    note_checkpoint(audit, op);
    bool is_start = op->kind == CS_OP_COLD_START, is_load = is_start || op->kind == CS_OP_RELOAD;
    enum cs_status status = cs_session_run(&audit->live, op);
    audit->verdict->n_accepted += is_load && status == CS_OK;
    audit->verdict->n_refused += is_load && status != CS_OK;
    bool waits = is_load && status == CS_OK && audit->live.log.load < 64 && cs_session_waits(&audit->live);
    if (waits) audit->verdict->waiting |= UINT64_C(1) << audit->live.log.load;
    if (status == CS_OK && op->kind == CS_OP_CAPTURE)
        return cs_graphs_capture_again(&audit->live, &audit->scratch, &audit->graphs);
    if (status == CS_OK) return is_start ? note_start(audit) : CS_OK;
    const struct cs_expected *expected = judged_by(audit, op);
    bool is_expected = expected && expected->is_refused;
    bool is_verdict = is_refusal(status) || (status == CS_BAD_FILE && is_expected); /* another model's checkpoint */
    if (!is_verdict || (is_start && !is_expected)) return status;
    audit->refusal = cs_arena_text(audit->arena, cs_error_text());
    audit->verdict->refused_reason = audit->refusal;
    audit->verdict->refused_load = audit->live.log.load;
    CS_REQUIRE(audit->refusal, CS_NO_MEMORY, "out of memory for a message");
    if (expected) return CS_OK;
    audit->verdict->seen |= CS_SEEN_BIT(CS_SEEN_REFUSAL);
    return give_verdict(audit, status == CS_REFUSED ? CS_REFUSED_AS_UPSTREAM : CS_FAILED,
                        cs_arena_format(audit->arena, "line %d: the load failed: %s", op->line, audit->refusal));
}

static enum cs_status judge_refusal(struct audit *audit, const struct cs_op *op, const struct cs_expected *expected) {
    bool is_expected = expected->is_refused && (!expected->refusal || strstr(audit->refusal, expected->refusal));
    if (is_expected) return give_verdict(audit, CS_REFUSED_AS_UPSTREAM, NULL);
    audit->verdict->seen |= CS_SEEN_BIT(CS_SEEN_REFUSAL);
    return give_verdict(audit, CS_FAILED,
                        cs_arena_format(audit->arena, "line %d: expected %s, but the load failed: %s", op->line,
                                        cs_expected_text(expected, audit->arena), audit->refusal));
}

static enum cs_status explain(struct audit *audit, const char *cold_policy, const struct cs_entry *entry,
                              const struct cs_state *now, const struct cold *cold, const struct cs_state *garbage) {
    const struct cs_case failing = {.live = &audit->live,
                                    .cold_policy = cold_policy,
                                    .checkpoint = audit->checkpoint,
                                    .now = now,
                                    .cold = &cold->declared,
                                    .garbage = garbage->n ? garbage : NULL};
    int64_t element;
    CS_TRY(cs_first_difference(&failing, entry, audit->arena, &audit->verdict->first, &element));
    return cs_explain(&failing, entry, element, audit->arena, audit->verdict);
}

static enum cs_status compare(struct audit *audit, const struct cs_op *op, const struct cs_expected *expected,
                              const char **reason, const char **unclear) {
    struct cs_verdict *verdict = audit->verdict;
    const char *cold_policy = cold_policy_of(audit, op);
    const struct cold *cold = find_cold(audit, cold_policy);
    const struct cs_state *garbage = &audit->garbage[op - audit->scenario->ops];
    struct cs_state now = {.arena = &audit->scratch};
    CS_TRY(capture(audit, &audit->live, &now));
    CS_TRY(cs_verdict_add_states(verdict, audit->arena, op->line, &now, &cold->declared));
    const struct cs_entry *first;
    memset(verdict->count, 0, sizeof verdict->count);
    cs_state_compare(&now, &cold->declared, &audit->own_cold, verdict->count, &verdict->params_total, &first);
    cs_excuse_count(audit->scenario, &now, &cold->declared, audit->n_excused);
    if (garbage->n) verdict->count[CS_COUNT_params_lucky] = cs_state_lucky(&now, garbage, &cold->declared);
    verdict->count[CS_COUNT_device_differ] = audit->device_differ;
    cs_load_counts(&audit->live, audit->arena, verdict);
    CS_TRY(cs_graphs_compare(audit->graphs, &cold->declared, &verdict->count[CS_COUNT_graph_differ]));
    verdict->count[CS_COUNT_changed] = cs_state_changed(&now, &audit->before);
    audit->before = now;
    const char *leak = NULL;
    if (expected->has_count[CS_COUNT_padding_leaks]) /* three more cold starts: only for who asks */
        CS_TRY(cs_padding_leaks(&audit->live, audit->checkpoint, op->line, audit->arena,
                                &verdict->count[CS_COUNT_padding_leaks], &leak));
    if (!op->against_policy) *unclear = cs_state_undetermined(&cold->declared, &cold->garbage, audit->arena);
    *reason = cs_expected_judge(expected, verdict->count, audit->arena, &verdict->seen);
    if (*reason && leak) *reason = cs_arena_format(audit->arena, "%s, the first is %s", *reason, leak);
    CS_TRY(cs_expected_values_judge(expected, &audit->live, audit->arena, reason, &verdict->seen));
    verdict->first.exists = false;
    verdict->n_why = 0;
    bool is_brief = audit->options->is_brief || audit->options->is_quick;
    return first && !is_brief ? explain(audit, cold_policy, first, &now, cold, garbage) : CS_OK;
}

static enum cs_status judge_devices(struct audit *audit) {
    audit->verdict->count[CS_COUNT_device_differ] = audit->device_differ;
    if (!audit->device_differ) return CS_OK;
    const char *text = cs_arena_format(audit->arena, "%s and ref disagree about %" PRId64 " tensors, the first is %s",
                                       audit->verdict->device, audit->device_differ, audit->device_first);
    return give_verdict(audit, CS_FAILED, text);
}

static enum cs_status judge_devices_alone(struct audit *audit) {
    struct cs_state now = {.arena = &audit->scratch};
    CS_TRY(capture(audit, &audit->live, &now));
    CS_TRY(cs_verdict_add_states(audit->verdict, audit->arena, audit->verdict->line, &now, NULL));
    audit->before = now;
    audit->verdict->params_total = 0;
    for (size_t i = 0; i < now.n; i++) audit->verdict->params_total += now.entries[i].kind == CS_ENTRY_PARAM;
    return judge_devices(audit);
}

static enum cs_status judge(struct audit *audit, const struct cs_op *op) {
    struct cs_verdict *verdict = audit->verdict;
    const struct cs_expected *expected = cs_expected_for(op, audit->options->policy);
    verdict->line = op->line;
    verdict->expected = cs_expected_text(expected, audit->arena);
    verdict->n_expectations++;
    if (audit->refusal) return judge_refusal(audit, op, expected);
    if (expected->is_refused) {
        verdict->seen |= CS_SEEN_BIT(CS_SEEN_REFUSAL);
        return give_verdict(audit, CS_FAILED,
                            cs_arena_format(audit->arena, "line %d: expected %s, but the load went through", op->line,
                                            verdict->expected));
    }
    if (!needs_cold(audit, op)) return judge_devices_alone(audit);
    const char *reason = NULL, *unclear = NULL;
    CS_TRY(compare(audit, op, expected, &reason, &unclear));
    int64_t lucky = verdict->count[CS_COUNT_params_lucky];
    if (audit->device_differ) return judge_devices(audit);
    if (expected->is_undetermined && unclear) return CS_OK;
    if (expected->is_undetermined) unclear = "expected a cold start that depends on what memory held, but it does not";
    if (unclear) {
        verdict->seen |= CS_SEEN_BIT(CS_SEEN_UNDETERMINED);
        return give_verdict(audit, CS_FAILED, unclear);
    }
    if (reason) return give_verdict(audit, CS_FAILED, cs_arena_format(audit->arena, "line %d: %s", op->line, reason));
    if (expected->is_equal && lucky) {
        verdict->seen |= CS_SEEN_BIT(CS_COUNT_params_lucky);
        return give_verdict(audit, CS_MISTRUSTED,
                            cs_arena_format(audit->arena,
                                            "line %d: equal by luck: %" PRId64
                                            " tensors change when undefined memory holds other garbage",
                                            op->line, lucky));
    }
    return CS_OK;
}

/* After a refusal there is no server to judge: what is expected then must be a refusal too. */
static enum cs_status judge_rest(struct audit *audit, size_t first) {
    for (size_t i = first; i < audit->scenario->n_ops && audit->verdict->status == CS_REFUSED_AS_UPSTREAM; i++) {
        const struct cs_op *op = &audit->scenario->ops[i];
        bool is_judged = op->kind == CS_OP_EXPECT && !expects_refusal(audit, op);
        if (is_judged)
            CS_TRY(give_verdict(
                audit, CS_FAILED,
                cs_arena_format(audit->arena,
                                "line %d: not judged: the load before was refused, and there is no rollback",
                                op->line)));
    }
    return CS_OK;
}

/* A declaration that nothing needed would hide what comes later. */
static enum cs_status judge_excuses(struct audit *audit) {
    const char *unused = cs_excuse_unused(audit->scenario, audit->n_excused, audit->arena);
    if (!unused || audit->verdict->status != CS_PASSED) return CS_OK;
    audit->verdict->seen |= CS_SEEN_BIT(CS_SEEN_EXCUSE);
    return give_verdict(audit, CS_FAILED, unused);
}

/* A reload that equals a cold start proves nothing when the mutant spoils both alike. */
static enum cs_status judge_cold(struct audit *audit) {
    bool is_right = !audit->cold_first || audit->verdict->status != CS_PASSED;
    if (is_right) return CS_OK;
    audit->verdict->seen |= CS_SEEN_BIT(CS_SEEN_REFERENCE);
    return give_verdict(
        audit, CS_FAILED,
        cs_arena_format(audit->arena, "a cold start makes other bytes than without the mutant: %s", audit->cold_first));
}

static enum cs_status run_all(struct audit *audit) {
    struct cs_session_config config = config_of(audit, audit->options->policy, false);
    config.is_tracing = !audit->options->is_quick;
    config.probes = audit->verdict->probes;
    audit->own_cold.arena = &audit->scratch;
    audit->n_excused = CS_NEW_ARRAY(audit->arena, int64_t, audit->scenario->n_excuses + 1);
    CS_REQUIRE(audit->n_excused, CS_NO_MEMORY, "out of memory for %zu declarations", audit->scenario->n_excuses);
    audit->verdict->n_excused = audit->n_excused;
    CS_TRY(cs_session_open(&audit->live, &config));
    CS_TRY(cs_session_can_load(&audit->live,
                               &audit->scenario->ops[0])); /* a bad checkpoint is named by the whole model's start */
    CS_TRY(plan_passes(audit));
    CS_TRY(make_colds(audit));
    CS_TRY(run_garbage(audit));
    size_t i = 0;
    for (; i < audit->scenario->n_ops && audit->verdict->status == CS_PASSED; i++) {
        const struct cs_op *op = &audit->scenario->ops[i];
        CS_TRY(op->kind == CS_OP_EXPECT ? judge(audit, op) : run_load(audit, op));
    }
    CS_TRY(judge_rest(audit, i));
    CS_TRY(judge_excuses(audit));
    return judge_cold(audit);
}

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

enum cs_status cs_audit_scenario(const struct cs_scenario *scenario, const struct cs_audit_options *options,
                                 struct cs_arena *arena, struct cs_verdict *verdict) {
    struct audit audit = {.scenario = scenario, .options = options, .arena = arena, .verdict = verdict};
    double start = now_seconds();
    struct cs_memory memory = cs_device_memory(options->device);
    cs_pool_init(&audit.own_pool, &memory);
    audit.own_pool.most_bytes = options->most_bytes;
    audit.pool = options->pool ? options->pool : &audit.own_pool;
    *verdict = (struct cs_verdict){.scenario = scenario,
                                   .device = options->device->name,
                                   .policy = options->policy,
                                   .seed = options->seed,
                                   .expected = "nothing"};
    enum cs_status status = run_all(&audit);
    if (status == CS_UNSUPPORTED) { /* R8.4: a failure, never a silent skip */
        verdict->status = CS_FAILED;
        verdict->is_unsupported = true;
        verdict->reason = cs_arena_text(arena, cs_error_text());
        status = CS_OK;
    }
    verdict->n_ranks = scenario->has_only_rank ? 1 : audit.live.n_ranks;
    verdict->is_lucky = verdict->count[CS_COUNT_params_lucky] > 0;
    cs_graphs_forget(audit.graphs);
    close_session(&audit, &audit.live);
    verdict->bytes_moved = audit.bytes_moved;
    verdict->bytes_peak = audit.bytes_peak;
    cs_pool_close(&audit.own_pool);
    status = cs_arena_checked(&audit.scratch, cs_arena_checked(arena, status));
    cs_arena_release(&audit.scratch);
    verdict->seconds = now_seconds() - start;
    return status;
}
