/* Runs a scenario twice in step, over the declared memory and over other garbage (R8.3), and judges each expectation against a cold start. */
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
    struct cs_arena *arena;   /* of the verdict */
    struct cs_arena scratch;  /* of states */
    struct cs_verdict *verdict;
    struct cs_session declared, garbage;
    struct cs_state own_cold; /* of `declared`, after its cold start */
    struct cold *colds;
    const char *checkpoint;   /* that the server should hold */
    const char *refusal;      /* of the load before; NULL: it went well */
    int64_t bytes_moved;
};

const char *cs_verdict_status_name(enum cs_verdict_status status) {
    static const char *const names[] = {
        [CS_PASSED] = "passed", [CS_FAILED] = "failed", [CS_MISTRUSTED] = "mistrusted", [CS_REFUSED_AS_UPSTREAM] = "refused", [CS_SKIPPED] = "skipped",
    };
    return names[status];
}

static struct cs_session_config config_of(const struct audit *audit, const char *policy, bool is_garbage) {
    return (struct cs_session_config){
        .scenario = audit->scenario, .device = audit->options->device, .policy = policy,
        .allocator = is_garbage ? cs_allocator_harshest : audit->scenario->allocator, .seed = audit->options->seed,
        .garbage_seed = audit->options->seed + (is_garbage ? UINT64_C(0x9e3779b97f4a7c15) : 0), .only_rank = -1,
    };
}

static enum cs_status cold_state(struct audit *audit, const char *policy, bool is_garbage, struct cs_state *state) {
    struct cs_session_config config = config_of(audit, policy, is_garbage);
    struct cs_session session;
    enum cs_status status = cs_cold_session(&config, audit->checkpoint, &session);
    if (status == CS_OK) status = cs_state_capture(&session, &audit->scratch, state);
    audit->bytes_moved += session.log.bytes_moved;
    cs_session_close(&session);
    for (size_t i = 0; i < state->n; i++) state->entries[i].spec = NULL; /* it went with the session */
    return status;
}

/* Made once for each checkpoint and policy. */
static enum cs_status cold_of(struct audit *audit, const char *policy, struct cold **found) {
    for (struct cold *cold = audit->colds; cold; cold = cold->next)
        if (cs_text_equal(cold->checkpoint, audit->checkpoint) && cs_text_equal(cold->policy, policy)) {
            *found = cold;
            return CS_OK;
        }
    struct cold *cold = CS_NEW(&audit->scratch, struct cold);
    CS_REQUIRE(cold, CS_NO_MEMORY, "out of memory for a cold start of %s", audit->checkpoint);
    cold->checkpoint = audit->checkpoint;
    cold->policy = policy;
    CS_TRY(cold_state(audit, policy, false, &cold->declared));
    CS_TRY(cold_state(audit, policy, true, &cold->garbage));
    cold->next = audit->colds;
    audit->colds = cold;
    *found = cold;
    return CS_OK;
}

static enum cs_status give_verdict(struct audit *audit, enum cs_verdict_status status, const char *reason) {
    audit->verdict->status = status;
    audit->verdict->reason = reason;
    return CS_OK;
}

/* A load that raised, as a server's would: the scenario may expect it. Bad files and lack of memory are no matter of the scenario. */
static bool is_refusal(enum cs_status status) {
    return status == CS_REFUSED || status == CS_BAD_SHAPE || status == CS_BAD_INDEX || status == CS_BAD_VALUE || status == CS_BAD_TYPE;
}

static enum cs_status run_start(struct audit *audit, const struct cs_op *op) {
    CS_TRY(cs_session_run(&audit->declared, op));
    CS_TRY(cs_state_capture(&audit->declared, &audit->scratch, &audit->own_cold));
    return cs_session_run(&audit->garbage, op);
}

static enum cs_status run_load(struct audit *audit, const struct cs_op *op) {
    audit->checkpoint = op->checkpoint;
    if (op->kind == CS_OP_COLD_START) return run_start(audit, op);
    enum cs_status status = cs_session_run(&audit->declared, op);
    if (status == CS_OK) return cs_session_run(&audit->garbage, op);
    if (!is_refusal(status)) return status;
    audit->refusal = cs_arena_text(audit->arena, cs_error_text());
    audit->verdict->refused_reason = audit->refusal;
    CS_REQUIRE(audit->refusal, CS_NO_MEMORY, "out of memory for a message");
    bool is_judged = op + 1 < audit->scenario->ops + audit->scenario->n_ops && op[1].kind == CS_OP_EXPECT;
    if (is_judged) return CS_OK;
    return give_verdict(audit, status == CS_REFUSED ? CS_REFUSED_AS_UPSTREAM : CS_FAILED,
                        cs_arena_format(audit->arena, "line %d: the load failed: %s", op->line, audit->refusal));
}

static enum cs_status judge_refusal(struct audit *audit, const struct cs_op *op, const struct cs_expected *expected) {
    bool is_expected = expected->is_refused && (!expected->refusal || strstr(audit->refusal, expected->refusal));
    if (is_expected) return give_verdict(audit, CS_REFUSED_AS_UPSTREAM, NULL);
    return give_verdict(audit, CS_FAILED, cs_arena_format(audit->arena, "line %d: expected %s, but the load failed: %s", op->line,
                                                          cs_expected_text(expected, audit->arena), audit->refusal));
}

static void note_load(struct audit *audit) {
    struct cs_verdict *verdict = audit->verdict;
    const struct cs_session *session = &audit->declared;
    const struct { enum cs_count count; int64_t value; } counts[] = {
        {CS_COUNT_missing, session->accounting.missing},   {CS_COUNT_duplicate, session->accounting.duplicate},
        {CS_COUNT_excess, session->accounting.excess},     {CS_COUNT_fill_calls, session->fill.calls},
        {CS_COUNT_fill_regions, session->fill.regions},    {CS_COUNT_fill_bytes, session->fill.bytes},
        {CS_COUNT_fill_skipped, session->fill.skipped},    {CS_COUNT_warnings, session->fill.warnings},
    };
    for (size_t i = 0; i < CS_COUNT(counts); i++) verdict->count[counts[i].count] = counts[i].value;
    verdict->not_simulated = session->accounting.not_simulated;
}

static enum cs_status explain(struct audit *audit, const struct cs_op *op, const char *cold_policy, const struct cold *cold, const struct cs_entry *entry,
                              const struct cs_state *now, const struct cs_state *other) {
    const struct cs_case failing = {
        .scenario = audit->scenario, .device = audit->options->device, .policy = audit->options->policy, .cold_policy = cold_policy,
        .seed = audit->options->seed, .garbage_seed = audit->options->seed, .checkpoint = audit->checkpoint,
        .n_ops = (size_t)(op - audit->scenario->ops),
    };
    int64_t element;
    CS_TRY(cs_first_difference(&failing, &audit->declared, entry, audit->arena, &audit->verdict->first, &element));
    return cs_explain(&failing, entry, element, now, other, &cold->declared, audit->arena, audit->verdict);
}

/* The cold start itself must not depend on memory; else there is nothing to be equal to. */
static const char *undetermined(const struct audit *audit, const struct cold *cold) {
    for (size_t i = 0; i < cold->declared.n; i++) {
        const struct cs_entry *a = &cold->declared.entries[i], *b = cs_state_find(&cold->garbage, a, i);
        if (a->kind == CS_ENTRY_PARAM && (!b || cs_entry_differs(a, b)))
            return cs_arena_format(audit->arena, "cold_undetermined: %s.%s of rank %d depends on what memory held at the cold start",
                                   audit->declared.model.ranks[a->rank].modules[a->module].name, a->name, a->rank);
    }
    return NULL;
}

static enum cs_status compare(struct audit *audit, const struct cs_op *op, const struct cs_expected *expected, const char **reason, const char **unclear) {
    struct cs_verdict *verdict = audit->verdict;
    const char *cold_policy = op->against_policy ? op->against_policy : audit->options->policy;
    struct cold *cold = NULL;
    struct cs_state now, other;
    CS_TRY(cold_of(audit, cold_policy, &cold));
    CS_TRY(cs_state_capture(&audit->declared, &audit->scratch, &now));
    CS_TRY(cs_state_capture(&audit->garbage, &audit->scratch, &other));
    const struct cs_entry *first;
    memset(verdict->count, 0, sizeof verdict->count);
    cs_state_compare(&now, &cold->declared, &audit->own_cold, verdict->count, &verdict->params_total, &first);
    verdict->count[CS_COUNT_params_lucky] = cs_state_lucky(&now, &other, &cold->declared);
    note_load(audit);
    if (!op->against_policy) *unclear = undetermined(audit, cold);
    *reason = cs_expected_judge(expected, verdict->count, audit->arena);
    CS_TRY(cs_expected_values_judge(expected, &audit->declared, audit->arena, reason));
    verdict->first.exists = false;
    verdict->n_why = 0;
    return first ? explain(audit, op, cold_policy, cold, first, &now, &other) : CS_OK;
}

static enum cs_status judge(struct audit *audit, const struct cs_op *op) {
    struct cs_verdict *verdict = audit->verdict;
    const struct cs_expected *expected = cs_expected_for(op, audit->options->policy);
    verdict->line = op->line;
    verdict->expected = cs_expected_text(expected, audit->arena);
    verdict->n_expectations++;
    if (audit->refusal) return judge_refusal(audit, op, expected);
    if (expected->is_refused) return give_verdict(audit, CS_FAILED, cs_arena_format(audit->arena, "line %d: expected %s, but the load went through", op->line, verdict->expected));
    const char *reason = NULL, *unclear = NULL;
    CS_TRY(compare(audit, op, expected, &reason, &unclear));
    int64_t lucky = verdict->count[CS_COUNT_params_lucky];
    if (unclear) return give_verdict(audit, CS_FAILED, unclear);
    if (reason) return give_verdict(audit, CS_FAILED, cs_arena_format(audit->arena, "line %d: %s", op->line, reason));
    if (expected->is_equal && lucky)
        return give_verdict(audit, CS_MISTRUSTED, cs_arena_format(audit->arena, "line %d: equal by luck: %" PRId64 " tensors change when undefined memory holds other garbage", op->line, lucky));
    return CS_OK;
}

static enum cs_status open_sessions(struct audit *audit) {
    struct cs_session_config declared = config_of(audit, audit->options->policy, false), garbage = config_of(audit, audit->options->policy, true);
    CS_TRY(cs_session_open(&audit->declared, &declared));
    return cs_session_open(&audit->garbage, &garbage);
}

static enum cs_status run_all(struct audit *audit) {
    CS_TRY(open_sessions(audit));
    for (size_t i = 0; i < audit->scenario->n_ops && audit->verdict->status == CS_PASSED; i++) {
        const struct cs_op *op = &audit->scenario->ops[i];
        CS_TRY(op->kind == CS_OP_EXPECT ? judge(audit, op) : run_load(audit, op));
    }
    return CS_OK;
}

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

enum cs_status cs_audit_scenario(const struct cs_scenario *scenario, const struct cs_audit_options *options, struct cs_arena *arena, struct cs_verdict *verdict) {
    struct audit audit = {.scenario = scenario, .options = options, .arena = arena, .verdict = verdict};
    double start = now_seconds();
    *verdict = (struct cs_verdict){.scenario = scenario, .device = options->device->name, .policy = options->policy, .seed = options->seed, .expected = "nothing"};
    enum cs_status status = run_all(&audit);
    if (status == CS_UNSUPPORTED) { /* R8.4: a failure, never a silent skip */
        verdict->status = CS_FAILED;
        verdict->reason = cs_arena_text(arena, cs_error_text());
        status = CS_OK;
    }
    verdict->n_ranks = audit.declared.n_ranks;
    verdict->is_lucky = verdict->count[CS_COUNT_params_lucky] > 0;
    verdict->bytes_moved = audit.bytes_moved + audit.declared.log.bytes_moved + audit.garbage.log.bytes_moved;
    verdict->bytes_peak = (int64_t)(audit.declared.bytes_peak + audit.garbage.bytes_peak);
    cs_session_close(&audit.declared);
    cs_session_close(&audit.garbage);
    cs_arena_release(&audit.scratch);
    verdict->seconds = now_seconds() - start;
    return status;
}
