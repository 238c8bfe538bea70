/* The oracle. A legal plan must keep the promise after each complete step, on its device and on ref, over two garbages;
 * an illegal one must be refused. The audit does the comparing. */
#include <stdio.h>
#include <string.h>

#include "sim/fuzz/internal.h"

/* Models are tiny. Post-load that runs again and again, on what it made, can double a tensor each time. */
enum { MOST_BYTES = 64 << 20 };

struct judging {
    const struct cs_fuzz_plan *plan;
    const struct cs_judge_options *options;
    struct cs_arena *arena;
    struct cs_scenario scenario;
    struct cs_fuzz_result *result;
    const struct cs_rule *broken;
    bool is_illegal, is_over;
};

static void print_finger(struct judging *judging, const char *a, const char *b, const char *c, const char *d) {
    snprintf(judging->result->fingerprint.text, sizeof judging->result->fingerprint.text, "%s %s %s %s", a, b, c, d);
}

static enum cs_status fail(struct judging *judging, const char *reason) {
    judging->result->outcome = CS_FUZZ_FAILED;
    judging->result->reason = reason;
    CS_REQUIRE(reason, CS_NO_MEMORY, "out of memory for a message");
    return CS_OK;
}

/* A refusal names what is wrong; running out of memory, or finding a fault of ours, does not. */
static bool is_refusal(enum cs_status status) {
    return status != CS_OK && status != CS_NO_MEMORY && status != CS_INTERNAL;
}

static const char *illegal_text(const struct judging *judging) {
    if (judging->plan->breakage) return cs_breakages[judging->plan->breakage - 1].name;
    return judging->broken ? judging->broken->name : "nothing";
}

static enum cs_status judge_check(struct judging *judging, enum cs_status status) {
    const char *text = cs_error_text();
    CS_REQUIRE(is_refusal(status), status, "%s", text);
    if (judging->is_illegal) {
        judging->result->outcome = CS_FUZZ_REFUSED;
        return CS_OK;
    }
    print_finger(judging, "refused", cs_status_name(status), cs_fuzz_backend_of(judging->plan)->method, "check");
    return fail(judging, cs_arena_format(judging->arena, "a legal plan was refused: %s", text));
}

/* The first channel that is not as expected. */
static const char *channel_of(const struct judging *judging, const struct cs_verdict *verdict) {
    for (size_t i = 0; i < judging->scenario.n_ops; i++) {
        const struct cs_op *op = &judging->scenario.ops[i];
        if (op->kind != CS_OP_EXPECT || op->line != verdict->line || !op->n_expected) continue;
        for (int c = 0; c < CS_N_COUNTS; c++)
            if (op->expected->has_count[c] && verdict->count[c] != op->expected->count[c]) return cs_count_names[c];
    }
    return verdict->reason && strncmp(verdict->reason, "cold_undetermined", 17) == 0 ? "cold_undetermined" : "other";
}

/* Loads up to the failing expectation, the start not counted. */
static size_t n_loads(const struct judging *judging, const struct cs_verdict *verdict) {
    size_t n = 0;
    for (size_t i = 0; i < judging->scenario.n_ops; i++) {
        const struct cs_op *op = &judging->scenario.ops[i];
        n += op->kind == CS_OP_RELOAD;
        if (op->line >= verdict->line) break;
    }
    return n;
}

/* The step that the failing expectation judges. */
static const char *step_of(const struct judging *judging, const struct cs_verdict *verdict, char *buffer) {
    size_t step = n_loads(judging, verdict);
    if (!step || step > judging->plan->n_steps) return cs_fuzz_start_of(judging->plan)->name;
    return cs_letter_text(judging->plan->step[step - 1].letter, buffer);
}

static enum cs_status judge_failure(struct judging *judging, const struct cs_verdict *verdict) {
    char step[CS_STEP_TEXT];
    /* A load did not come to its end: the counts are those of the expectation before. */
    const char *channel = verdict->refused_reason ? "other" : channel_of(judging, verdict);
    bool is_raised = cs_text_equal(channel, "other");
    int load = verdict->refused_reason ? verdict->refused_load : judging->plan->n_steps;
    bool is_in_order = is_raised && cs_fuzz_may_be_refused(judging->plan, load);
    if (is_in_order) {
        judging->result->outcome = CS_FUZZ_REFUSED;
        judging->result->refused_step = verdict->refused_reason ? load - 1 : -1;
        return CS_OK;
    }
    if (verdict->refused_reason) {
        print_finger(judging, "refused", step_of(judging, verdict, step), cs_fuzz_backend_of(judging->plan)->method,
                     "run");
    } else if (verdict->first.exists) {
        const char *role = strrchr(verdict->first.tensor, '.');
        print_finger(judging, channel, cs_byte_class_name(verdict->first.byte_class),
                     role ? role + 1 : verdict->first.tensor, verdict->writer);
    } else {
        print_finger(judging, channel, step_of(judging, verdict, step), cs_fuzz_backend_of(judging->plan)->method, "");
    }
    judging->result->n_why = verdict->n_why;
    judging->result->why = verdict->why;
    const char *reason = verdict->reason ? verdict->reason : "no reason given", *colon = strstr(reason, ": ");
    bool has_line = strncmp(reason, "line ", 5) == 0 && colon; /* a plan has no lines */
    return fail(judging, cs_arena_format(judging->arena, "%s", has_line ? colon + 2 : reason));
}

static enum cs_status judge_verdict(struct judging *judging, const struct cs_verdict *verdict) {
    judging->result->digest = verdict->digest;
    if (judging->is_illegal) {
        bool is_refused =
            verdict->status == CS_REFUSED_AS_UPSTREAM || verdict->refused_reason || verdict->is_unsupported;
        if (is_refused) {
            judging->result->outcome = CS_FUZZ_REFUSED;
            return CS_OK;
        }
        print_finger(judging, "accepted", illegal_text(judging), "", "");
        return fail(judging, cs_arena_format(judging->arena, "illegal (%s), and was not refused: %s",
                                             illegal_text(judging), verdict->reason ? verdict->reason : "it passed"));
    }
    if (verdict->status == CS_PASSED) return CS_OK;
    return judge_failure(judging, verdict);
}

static enum cs_status audit(struct judging *judging, const struct cs_device *device, bool is_quick,
                            struct cs_recording *recording, const struct cs_recording *reference,
                            struct cs_verdict *verdict) {
    const struct cs_audit_options options = {.device = device,
                                             .policy = judging->scenario.policies[0],
                                             .seed = judging->scenario.seed,
                                             .is_quick = is_quick,
                                             .most_bytes = MOST_BYTES,
                                             .recording = recording,
                                             .reference = reference};
    if (recording) recording->n = 0;
    enum cs_status status = cs_audit_scenario(&judging->scenario, &options, judging->arena, verdict);
    judging->is_over = status != CS_OK;
    return is_refusal(status) ? judge_check(judging, status) : status;
}

static void note_deeds(struct cs_fuzz_result *result, const struct cs_verdict *verdict) {
    result->deeds = (struct cs_fuzz_deeds){.n_accepted = verdict->n_accepted,
                                           .n_refused = verdict->n_refused,
                                           .is_unsupported = verdict->is_unsupported,
                                           .waiting = verdict->waiting};
    memcpy(result->deeds.probes, verdict->probes, sizeof result->deeds.probes);
}

/* Digests first; what differs is looked at again, at leisure, and explained. */
static enum cs_status judge_on(struct judging *judging, const struct cs_device *device, struct cs_recording *recording,
                               const struct cs_recording *reference) {
    struct cs_verdict verdict = {0};
    for (int is_quick = 1; is_quick >= 0; is_quick--) {
        CS_TRY(audit(judging, device, is_quick, recording, reference, &verdict));
        if (judging->is_over) return CS_OK;
        note_deeds(judging->result, &verdict);
        judging->result->outcome = CS_FUZZ_PASSED;
        CS_TRY(judge_verdict(judging, &verdict));
        if (judging->result->outcome != CS_FUZZ_FAILED) return CS_OK;
    }
    return CS_OK;
}

static enum cs_status run_once(struct judging *judging) {
    const struct cs_device *device = cs_fuzz_device_of(judging->plan);
    struct cs_recording made_by_ref = {.arena = judging->arena};
    bool is_ref = device == cs_devices[0];
    CS_TRY(judge_on(judging, cs_devices[0], is_ref ? NULL : &made_by_ref, NULL));
    if (judging->is_over || is_ref || judging->result->outcome != CS_FUZZ_PASSED) return CS_OK;
    return judge_on(judging, device, NULL, &made_by_ref);
}

static enum cs_status judge_whole(const struct cs_fuzz_plan *plan, const struct cs_judge_options *options,
                                  struct cs_arena *arena, struct cs_fuzz_result *result) {
    struct judging judging = {
        .plan = plan, .options = options, .arena = arena, .result = result, .broken = cs_rule_broken(NULL, plan)};
    judging.is_illegal = plan->breakage || judging.broken;
    CS_TRY(cs_fuzz_scenario(plan, "fuzz.plan", arena, &judging.scenario));
    judging.scenario.defects = cs_fuzz_defects(plan, options->defects);
    enum cs_status status = cs_scenario_check(&judging.scenario);
    return status == CS_OK ? run_once(&judging) : judge_check(&judging, status);
}

/* A refusal that is in order ends a run. What comes after it is judged all the same: in a plan without that step. */
static enum cs_status judge(const struct cs_fuzz_plan *plan, const struct cs_judge_options *options,
                            struct cs_arena *arena, struct cs_fuzz_result *result) {
    bool is_illegal = plan->breakage || cs_rule_broken(NULL, plan), has_refused = false;
    *result = (struct cs_fuzz_result){.judged = *plan};
    for (;;) {
        size_t refused = is_illegal ? SIZE_MAX : cs_fuzz_find_refused(&result->judged, options->defects, MOST_BYTES);
        if (refused == SIZE_MAX) {
            result->refused_step = -1;
            CS_TRY(judge_whole(&result->judged, options, arena, result));
            if (is_illegal || result->outcome != CS_FUZZ_REFUSED || result->refused_step < 0) break;
            refused = (size_t)result->refused_step;
        }
        has_refused = true;
        struct cs_fuzz_plan less = cs_fuzz_without(&result->judged, refused, 1);
        result->outcome = CS_FUZZ_REFUSED;
        if (!less.n_steps) return CS_OK; /* nothing is left */
        result->judged = less;
    }
    if (has_refused && result->outcome == CS_FUZZ_PASSED) result->outcome = CS_FUZZ_REFUSED;
    return CS_OK;
}

enum cs_status cs_fuzz_judge(const struct cs_fuzz_plan *plan, const struct cs_judge_options *options,
                             struct cs_arena *arena, struct cs_fuzz_result *result) {
    CS_TRY(judge(plan, options, arena, result));
    if (!options->is_doubled) return CS_OK;
    struct cs_fuzz_result again;
    CS_TRY(judge(plan, options, arena, &again));
    bool is_same = again.outcome == result->outcome && again.digest == result->digest &&
                   cs_text_equal(again.fingerprint.text, result->fingerprint.text);
    if (is_same) return CS_OK;
    result->outcome = CS_FUZZ_FAILED;
    snprintf(result->fingerprint.text, sizeof result->fingerprint.text, "flaky %s", cs_fuzz_backend_of(plan)->method);
    result->reason = "flaky: the same plan run twice gave two results";
    return CS_OK;
}
