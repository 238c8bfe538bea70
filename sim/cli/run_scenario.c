/* One scenario: every policy on every device, repeated when that was asked for. Devices other than ref must make what
 * ref makes, tensor by tensor, state by state. */
#include "sim/cli/run.h"

/* The verdict that is being made. */
struct task {
    const struct cs_run *run;
    const struct cs_scenario *scenario;
    const char *policy;
    const struct cs_device *device;
    const struct cs_run_listener *listener;
    struct cs_recording made_by_ref;         /* under this policy */
    struct cs_recording made_without_mutant; /* cold starts, under this policy */
    size_t n_done, n_repeated;               /* verdicts before this one; repetitions of this one that are done */
    int64_t bytes;                           /* moved by what is done */
    int64_t bytes_now;                       /* by the repetition that runs */
};

uint64_t cs_run_seed(const struct cs_run *run, const struct cs_scenario *scenario) {
    return run->has_seed ? run->seed : scenario->seed;
}

size_t cs_run_n_policies(const struct cs_run *run, const struct cs_scenario *scenario) {
    return run->policy ? 1 : scenario->n_policies;
}

size_t cs_run_n_verdicts(const struct cs_run *run, const struct cs_scenario *scenario) {
    return cs_run_n_policies(run, scenario) * run->n_devices;
}

const char *cs_run_policy(const struct cs_run *run, const struct cs_scenario *scenario, size_t index) {
    return run->policy ? run->policy : scenario->policies[index];
}

bool cs_run_stops_after(const struct cs_run *run, const struct cs_verdict *verdict) {
    return run->stops_early && (verdict->status == CS_FAILED || verdict->status == CS_MISTRUSTED);
}

/* A verdict that is not the audit's. */
static struct cs_verdict plain_verdict(const struct task *task, enum cs_verdict_status status, const char *reason) {
    const struct cs_scenario *scenario = task->scenario;
    int n_ranks = scenario->has_only_rank ? 1 : scenario->tp > scenario->ep ? scenario->tp : scenario->ep;
    return (struct cs_verdict){.scenario = scenario,
                               .device = task->device->name,
                               .policy = task->policy,
                               .seed = cs_run_seed(task->run, scenario),
                               .status = status,
                               .reason = reason,
                               .line = scenario->line,
                               .n_ranks = n_ranks > 0 ? (size_t)n_ranks : 1};
}

static void tell_progress(void *context, int64_t done, int64_t total, int64_t bytes) {
    struct task *task = context;
    double share = total > 0 ? (double)done / (double)total : 0;
    task->bytes_now = bytes;
    task->listener->progress(task->listener->context,
                             (double)task->n_done + ((double)task->n_repeated + share) / (double)task->run->n_repeats,
                             task->bytes + bytes);
}

/* What nobody implements is a failure, never a silent skip (R8.4); so is a refusal that no expectation foresaw. */
static enum cs_status judge(struct task *task, struct cs_arena *arena, struct cs_verdict *verdict) {
    struct cs_audit_options options = {.device = task->device,
                                       .policy = task->policy,
                                       .seed = cs_run_seed(task->run, task->scenario),
                                       .progress = tell_progress,
                                       .progress_context = task,
                                       .reference_cold =
                                           task->made_without_mutant.n ? &task->made_without_mutant : NULL};
    if (task->device != cs_devices[0])
        options.reference = &task->made_by_ref;
    else if (!task->made_by_ref.n)
        options.recording = &task->made_by_ref;
    enum cs_status status = cs_audit_scenario(task->scenario, &options, arena, verdict);
    if (status == CS_UNSUPPORTED || status == CS_REFUSED) {
        const char *reason = cs_arena_format(arena, "%s: %s", cs_status_name(status), cs_error_text());
        *verdict = plain_verdict(task, CS_FAILED, reason);
        if (status == CS_REFUSED) verdict->refused_reason = reason;
        return CS_OK;
    }
    CS_REQUIRE(status == CS_OK, status, "%s, policy %s, device %s: %s", task->scenario->name, task->policy,
               task->device->name, cs_error_text());
    if (task->run->has_mutant) verdict->mutant = cs_defect_name(task->run->mutant);
    return CS_OK;
}

/* Another run of the same verdict; what differs, in words, or NULL. A file that is bad only now differs too. */
static enum cs_status judge_again(struct task *task, struct cs_arena *arena, const struct cs_verdict *first,
                                  const char **difference) {
    struct cs_arena scratch = {0};
    struct cs_verdict again;
    enum cs_status status = judge(task, &scratch, &again);
    bool is_ours = status == CS_NO_MEMORY || status == CS_INTERNAL;
    if (status == CS_OK)
        *difference = cs_report_difference(first, &again, arena);
    else if (!is_ours)
        *difference = cs_arena_format(arena, "it ran, then: %s", cs_error_text());
    cs_arena_release(&scratch);
    return is_ours ? status : CS_OK;
}

static enum cs_status judge_all(struct task *task, struct cs_arena *arena, struct cs_verdict *verdict) {
    CS_TRY(judge(task, arena, verdict));
    size_t n = task->run->n_repeats;
    for (size_t i = 2; i <= n; i++) {
        const char *difference = NULL;
        task->n_repeated = i - 1;
        task->bytes += task->bytes_now;
        CS_TRY(judge_again(task, arena, verdict, &difference));
        if (!difference) continue;
        verdict->status = CS_FAILED;
        verdict->reason =
            cs_arena_format(arena, "flaky: repetition %zu of %zu differs from the first: %s", i, n, difference);
        break;
    }
    return CS_OK;
}

/* What ref makes, when it is not in this run itself. */
static enum cs_status record_ref(struct task *task) {
    const struct cs_device *device = task->device;
    if (device == cs_devices[0] || task->made_by_ref.n) return CS_OK;
    struct cs_arena scratch = {0};
    struct cs_verdict verdict;
    task->device = cs_devices[0];
    enum cs_status status = judge(task, &scratch, &verdict);
    task->device = device;
    cs_arena_release(&scratch);
    return status;
}

/* Cold starts of the engine without the mutant; none when it cannot run the scenario. */
static enum cs_status record_without_mutant(struct task *task) {
    if (!task->run->has_mutant || task->made_without_mutant.n) return CS_OK;
    struct cs_scenario scenario = *task->scenario;
    scenario.defects = cs_defects_with(scenario.defects, task->run->mutant, false);
    struct cs_audit_options options = {.device = cs_devices[0],
                                       .policy = task->policy,
                                       .seed = cs_run_seed(task->run, task->scenario),
                                       .is_brief = true,
                                       .recording_cold = &task->made_without_mutant};
    struct cs_arena scratch = {0};
    struct cs_verdict verdict;
    enum cs_status status = cs_audit_scenario(&scenario, &options, &scratch, &verdict);
    cs_arena_release(&scratch);
    return status == CS_NO_MEMORY || status == CS_INTERNAL ? status : CS_OK;
}

static enum cs_status run_on_device(struct task *task, struct cs_arena *arena, bool *stops) {
    struct cs_verdict verdict = {0};
    const char *missing = task->device->unavailable ? task->device->unavailable() : "";
    task->n_repeated = 0;
    if (*missing) { /* only an automatic one gets here (R8.5) */
        verdict = plain_verdict(task, CS_SKIPPED, missing);
    } else {
        CS_TRY(record_without_mutant(task));
        CS_TRY(record_ref(task));
        CS_TRY(judge_all(task, arena, &verdict));
    }
    task->bytes += task->bytes_now;
    task->n_done++;
    *stops = cs_run_stops_after(task->run, &verdict);
    return task->listener->verdict(task->listener->context, &verdict);
}

static enum cs_status run_on_devices(struct task *task, struct cs_arena *arena, bool *stops) {
    struct cs_arena digests = {0};
    task->made_by_ref = task->made_without_mutant = (struct cs_recording){.arena = &digests};
    enum cs_status status = CS_OK;
    for (size_t i = 0; status == CS_OK && !*stops && i < task->run->n_devices; i++) {
        task->device = task->run->devices[i];
        status = run_on_device(task, arena, stops);
    }
    cs_arena_release(&digests);
    return status;
}

enum cs_status cs_run_scenario(const struct cs_run *run, const struct cs_scenario *scenario, struct cs_arena *arena,
                               const struct cs_run_listener *listener) {
    struct task task = {.run = run, .scenario = scenario, .listener = listener};
    bool stops = false;
    for (size_t i = 0; !stops && i < cs_run_n_policies(run, scenario); i++) {
        task.policy = cs_run_policy(run, scenario, i);
        CS_TRY(run_on_devices(&task, arena, &stops));
    }
    return CS_OK;
}
