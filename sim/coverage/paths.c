/* From a scenario and its verdict to the paths that were taken. */
#include <stdlib.h>
#include <string.h>

#include "sim/coverage/internal.h"

/* ---- one load ---- */

static const char *sharding_of(const struct cs_scenario *scenario) {
    if (scenario->ep > 1) return scenario->ep == 2 ? "ep2" : "ep3+";
    return scenario->tp == 1 ? "tp1" : scenario->tp == 2 ? "tp2" : "tp3+";
}

static const char *arrival_of(const struct cs_scenario *scenario, const struct cs_op *op, const char *loader) {
    if (cs_driver_by_name(op->driver)->bucket) return "buckets"; /* there are no others for this driver */
    bool is_other = op->loader && !cs_text_equal(op->loader, scenario->loader ? scenario->loader : loader);
    const struct {
        bool is_so;
        const char *name;
    } ways[] = {
        {op->is_stopped, "stopped"},
        {op->has_only || op->n_omitted, "partial"},
        {op->n_duplicated > 0, "duplicated"},
        {op->n_unknown > 0, "unknown"},
        {is_other, "other_loader"},
        {op->pieces > 1, "pieces"},
        {op->bucket_bytes || op->bucket_tensors, "buckets"},
        {op->is_shuffled || op->n_order, "shuffled"},
        {op->is_reversed, "reversed"},
        {true, "in_order"},
    };
    size_t i = 0;
    while (!ways[i].is_so) i++;
    return ways[i].name;
}

/* What a load leaves that is not whole. */
static const char *left_unfinished(const struct cs_op *op) {
    if (!op->is_stopped) return "partial";
    bool waits = cs_driver_by_name(op->driver)->begin == cs_driver_by_name("layerwise")->begin;
    return waits ? "waiting" : "partial";
}

const char *cs_left_by(const struct cs_op *op) {
    bool is_whole = !op->is_stopped && !op->has_only && !op->n_omitted;
    switch (op->kind) {
    case CS_OP_COLD_START:
        return cs_text_equal(op->driver, "meta_build") ? "meta" : op->checkpoint ? "cold" : "dummy";
    case CS_OP_RELOAD:
        return is_whole ? "reloaded" : left_unfinished(op);
    case CS_OP_WAKE:
        return "woken";
    default:
        return NULL;
    }
}

/* The same of load `load` of a run: whether a module waits is what came of it, not what was meant. */
static const char *was_left_by(const struct cs_op *op, const struct cs_verdict *verdict, int load) {
    const char *left = cs_left_by(op);
    bool is_load = op->kind == CS_OP_COLD_START || op->kind == CS_OP_RELOAD;
    if (!verdict || !is_load || load >= 64) return left;
    if (verdict->waiting >> load & 1) return "waiting";
    return cs_text_equal(left, "waiting") ? "reloaded" : left; /* stopped behind the last tensor that anybody needs */
}

/* What the operations before `op` left. */
static const char *before_of(const struct cs_scenario *scenario, size_t op, const struct cs_verdict *verdict) {
    const char *before = "nothing";
    int load = 0;
    for (size_t i = 0; i < op; i++) {
        const char *left = was_left_by(&scenario->ops[i], verdict, load);
        load += scenario->ops[i].kind == CS_OP_COLD_START || scenario->ops[i].kind == CS_OP_RELOAD;
        if (left) before = left;
    }
    return before;
}

static bool set_value(const struct cs_coverage_model *model, enum cs_path_axis axis, const char *name,
                      struct cs_way *way) {
    int value = cs_path_value(model, axis, name);
    way->value[axis] = (uint8_t)value;
    return value >= 0;
}

/* What all loads of a run have in common. False: no registry knows its method, or there is none. */
static bool run_of(const struct cs_coverage_model *model, const struct cs_scenario *scenario, const char *policy,
                   const char *device, struct cs_way *way) {
    bool is_own = scenario->own_method || scenario->own_backend;
    const struct cs_method *method = scenario->method && !is_own ? cs_method_by_name(scenario->method) : NULL;
    const struct cs_backend *backend = method ? cs_backend_by_name(method, scenario->backend) : NULL;
    return backend && set_value(model, CS_PATH_method, method->name, way) &&
           set_value(model, CS_PATH_backend, backend->name, way) &&
           set_value(model, CS_PATH_sharding, sharding_of(scenario), way) &&
           set_value(model, CS_PATH_policy, policy, way) && set_value(model, CS_PATH_device, device, way);
}

/* The rest of the way that operation `index` takes, or took in the run of `verdict`; false: it is no load. */
static bool load_of(const struct cs_coverage_model *model, const struct cs_scenario *scenario, size_t index,
                    const struct cs_verdict *verdict, struct cs_way *way) {
    const struct cs_op *op = &scenario->ops[index];
    bool is_load = op->kind == CS_OP_COLD_START || op->kind == CS_OP_RELOAD;
    if (!is_load || op->own_loader) return false;
    const struct cs_driver *driver = cs_driver_by_name(op->driver);
    const char *usual = scenario->loader ? scenario->loader : cs_path_method(model, way)->loaders[0];
    bool has_none = driver->takes != CS_TAKES_CHECKPOINT;
    return set_value(model, CS_PATH_loader,
                     has_none     ? "none"
                     : op->loader ? op->loader
                                  : usual,
                     way) &&
           set_value(model, CS_PATH_driver, op->driver, way) &&
           set_value(model, CS_PATH_before, before_of(scenario, index, verdict), way) &&
           set_value(model, CS_PATH_arrival, arrival_of(scenario, op, usual), way);
}

bool cs_coverage_path(const struct cs_coverage_model *model, const struct cs_scenario *scenario, size_t index,
                      const char *policy, const char *device, struct cs_way *path) {
    return run_of(model, scenario, policy, device, path) && load_of(model, scenario, index, NULL, path);
}

/* ---- tables ---- */

void cs_coverage_init(struct cs_coverage *coverage, const struct cs_coverage_model *model, struct cs_arena *arena) {
    *coverage = (struct cs_coverage){.model = model, .arena = arena};
}

static uint64_t hash_of(const void *bytes, size_t size) { return cs_mix64(cs_fnv1a64(CS_FNV1A64_START, bytes, size)); }

/* Makes room for one more entry: tables are at most half full. `hash` of the entry with that index. */
static enum cs_status widen(struct cs_coverage *coverage, uint32_t **slots, size_t *n_slots, size_t n,
                            uint64_t (*hash)(const struct cs_coverage *coverage, size_t index)) {
    if (2 * (n + 1) <= *n_slots) return CS_OK;
    size_t wider = *n_slots ? *n_slots * 2 : 64;
    uint32_t *table = CS_NEW_ARRAY(coverage->arena, uint32_t, wider);
    CS_REQUIRE(table, CS_NO_MEMORY, "out of memory for %zu paths", wider);
    for (size_t i = 0; i < n; i++) {
        size_t at = hash(coverage, i) & (wider - 1);
        while (table[at]) at = (at + 1) & (wider - 1);
        table[at] = (uint32_t)i + 1;
    }
    *slots = table;
    *n_slots = wider;
    return CS_OK;
}

static uint64_t hash_path(const struct cs_coverage *coverage, size_t index) {
    return hash_of(&coverage->paths[index].path, sizeof(struct cs_way));
}

enum cs_status cs_coverage_add(struct cs_coverage *coverage, const struct cs_seen_path *seen) {
    CS_TRY(widen(coverage, &coverage->slots, &coverage->n_slots, coverage->n_paths, hash_path));
    size_t at = hash_of(&seen->path, sizeof seen->path) & (coverage->n_slots - 1);
    for (; coverage->slots[at]; at = (at + 1) & (coverage->n_slots - 1)) {
        struct cs_seen_path *known = &coverage->paths[coverage->slots[at] - 1];
        if (memcmp(&known->path, &seen->path, sizeof seen->path) != 0) continue;
        known->accepted += seen->accepted;
        known->refused += seen->refused;
        return CS_OK;
    }
    void *items = coverage->paths;
    struct cs_seen_path *added =
        cs_arena_grow(coverage->arena, &items, coverage->n_paths, &coverage->path_capacity, sizeof *added);
    CS_REQUIRE(added, CS_NO_MEMORY, "out of memory for %zu paths", coverage->n_paths + 1);
    coverage->paths = items;
    *added = *seen;
    added->may_be_refused = cs_path_refusal(coverage->model, &seen->path) != NULL;
    added->scenario = cs_arena_text(coverage->arena, seen->scenario ? seen->scenario : "");
    CS_REQUIRE(added->scenario, CS_NO_MEMORY, "out of memory for the name of a scenario");
    coverage->slots[at] = (uint32_t)++coverage->n_paths;
    return CS_OK;
}

static uint64_t hash_text(const char *text) { return hash_of(text, strlen(text)); }
static uint64_t hash_sequence(const struct cs_coverage *coverage, size_t index) {
    return hash_text(coverage->sequences[index].text);
}

enum cs_status cs_coverage_add_sequence(struct cs_coverage *coverage, const char *text, int64_t n) {
    CS_TRY(
        widen(coverage, &coverage->sequence_slots, &coverage->n_sequence_slots, coverage->n_sequences, hash_sequence));
    size_t at = hash_text(text) & (coverage->n_sequence_slots - 1);
    for (; coverage->sequence_slots[at]; at = (at + 1) & (coverage->n_sequence_slots - 1)) {
        struct cs_seen_sequence *known = &coverage->sequences[coverage->sequence_slots[at] - 1];
        if (!cs_text_equal(known->text, text)) continue;
        known->n += n;
        return CS_OK;
    }
    void *items = coverage->sequences;
    struct cs_seen_sequence *added =
        cs_arena_grow(coverage->arena, &items, coverage->n_sequences, &coverage->sequence_capacity, sizeof *added);
    CS_REQUIRE(added, CS_NO_MEMORY, "out of memory for %zu sequences", coverage->n_sequences + 1);
    coverage->sequences = items;
    *added = (struct cs_seen_sequence){cs_arena_text(coverage->arena, text), n};
    CS_REQUIRE(added->text, CS_NO_MEMORY, "out of memory for a sequence");
    coverage->sequence_slots[at] = (uint32_t)++coverage->n_sequences;
    return CS_OK;
}

/* ---- one run ---- */

enum { SEQUENCE_TEXT = 1024 };

/* Operations that went through, in order: drivers, and "sleep". */
static void sequence_of(const struct cs_scenario *scenario, const struct cs_verdict *verdict, char *text) {
    size_t used = 0;
    int64_t n_loads = 0;
    *text = 0;
    for (size_t i = 0; i < scenario->n_ops && used < SEQUENCE_TEXT; i++) {
        const struct cs_op *op = &scenario->ops[i];
        bool is_load = op->kind == CS_OP_COLD_START || op->kind == CS_OP_RELOAD;
        if (is_load && n_loads++ == verdict->n_accepted) return;
        const char *name = is_load ? op->driver : op->kind == CS_OP_SLEEP ? "sleep" : NULL;
        if (name) used += (size_t)snprintf(text + used, SEQUENCE_TEXT - used, "%s%s", used ? " " : "", name);
    }
}

enum cs_status cs_coverage_note(struct cs_coverage *coverage, const struct cs_scenario *scenario,
                                const struct cs_verdict *verdict) {
    if (verdict->status == CS_SKIPPED) return CS_OK;
    coverage->n_runs++;
    for (int i = 0; i < CS_N_LOAD_PROBES; i++) coverage->probes[i] += (int64_t)verdict->probes[i];
    struct cs_way run;
    if (!run_of(coverage->model, scenario, verdict->policy, verdict->device, &run)) return CS_OK;
    int64_t n_loads = 0;
    for (size_t i = 0; i < scenario->n_ops; i++) {
        const struct cs_op *op = &scenario->ops[i];
        if (op->kind != CS_OP_COLD_START && op->kind != CS_OP_RELOAD) continue;
        if (n_loads++ == verdict->n_accepted + verdict->n_refused) break;
        struct cs_seen_path seen = {.path = run, .scenario = scenario->name};
        seen.accepted = n_loads <= verdict->n_accepted;
        seen.refused = !seen.accepted;
        if (seen.refused && verdict->is_unsupported) break; /* nobody simulates it: that is no refusal */
        if (load_of(coverage->model, scenario, i, verdict, &seen.path)) CS_TRY(cs_coverage_add(coverage, &seen));
    }
    char text[SEQUENCE_TEXT];
    sequence_of(scenario, verdict, text);
    return *text ? cs_coverage_add_sequence(coverage, text, 1) : CS_OK;
}
