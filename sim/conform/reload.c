#include "sim/conform/reload.h"

#include <stdlib.h>
#include <string.h>

struct job {
    struct cs_golden_case *golden;
    cs_defect_set defects;
    struct cs_golden_model model;
    const json_t *cold; /* the model's cold_determinism row, or NULL */
};

static const struct cs_golden_poison zeros = {0, 0, false};

static enum cs_status start_job(struct cs_golden_case *golden, cs_defect_set defects, struct job *job) {
    *job = (struct job){.golden = golden, .defects = defects};
    const json_t *scenarios = golden->context, *row;
    CS_TRY(cs_golden_model_find(scenarios, golden->json, &job->model));
    size_t length = strcspn(golden->id, "/"), i;
    json_array_foreach(scenarios, i, row) {
        const char *id = cs_golden_string(row, "id");
        bool is_same = id && strncmp(id, golden->id, length) == 0 && cs_text_equal(id + length, "/cold_determinism");
        if (is_same) job->cold = row;
    }
    return CS_OK;
}

/* The state of a cold start. */
static enum cs_status cold_state(struct job *job, struct cs_golden_poison poison, const char *checkpoint,
                                 struct cs_golden_state *state) {
    struct cs_golden_server server;
    enum cs_status status = cs_golden_server_start(&server, job->golden->device, &job->model, poison, 0, checkpoint);
    if (status == CS_OK) status = cs_golden_state_read(&job->golden->arena, &server, state);
    cs_golden_server_close(&server);
    return status;
}

/* ---- cold_determinism ---- */

/* Cold starts over memory full of each byte, against the one over zeros. */
static enum cs_status compare_poisons(struct job *job, const struct cs_golden_state *reference) {
    const json_t *poisons, *list;
    const char *byte;
    CS_TRY(cs_golden_object(job->golden->json, "differs_under_poison", &poisons));
    json_object_foreach((json_t *)poisons, byte, list) {
        struct cs_golden_state state;
        CS_TRY(cold_state(job, (struct cs_golden_poison){.cold = (uint8_t)strtoul(byte, NULL, 16)}, "A", &state));
        CS_TRY(cs_golden_state_differs_as(list, NULL, reference, &state));
    }
    return CS_OK;
}

/* The padding's image in kernel format: what changes with the bytes that parameters were created with. */
static enum cs_status compare_padding(struct job *job) {
    const json_t *counts;
    struct cs_golden_state zero, ones;
    CS_TRY(cs_golden_object(job->golden->json, "pad_elems", &counts));
    CS_TRY(cold_state(job, (struct cs_golden_poison){.cold = 0x00, .has_prefill = true}, "A", &zero));
    CS_TRY(cold_state(job, (struct cs_golden_poison){.cold = 0xFF, .has_prefill = true}, "A", &ones));
    return cs_golden_state_differs_by(counts, &zero, &ones);
}

static enum cs_status check_cold(struct cs_golden_case *golden) {
    struct job job;
    const json_t *a, *b, *layouts;
    struct cs_golden_state state_a, state_b;
    CS_TRY(start_job(golden, 0, &job));
    CS_TRY(cs_golden_object(golden->json, "cold_hash_A", &a));
    CS_TRY(cs_golden_object(golden->json, "cold_hash_B", &b));
    CS_TRY(cs_golden_object(golden->json, "cold_meta", &layouts));
    CS_TRY(cold_state(&job, zeros, "A", &state_a));
    CS_TRY(cold_state(&job, zeros, "B", &state_b));
    CS_TRY(cs_golden_state_has_layouts(layouts, &state_a));
    CS_TRY(cs_golden_state_has_hashes(a, &state_a));
    CS_TRY(cs_golden_state_has_hashes(b, &state_b));
    CS_TRY(compare_poisons(&job, &state_a));
    return compare_padding(&job);
}

/* ---- sequences ---- */

static enum cs_status poison_byte(const json_t *poison, const char *key, uint8_t *byte) {
    const char *text;
    char *end;
    CS_TRY(cs_golden_text(poison, key, &text));
    unsigned long value = strtoul(text, &end, 16);
    CS_REQUIRE(end != text && !*end && value <= 255, CS_BAD_FILE, "golden file: poison \"%s\" is no byte", text);
    *byte = (uint8_t)value;
    return CS_OK;
}

/* Rows of refused scenarios only have it in their id. */
static enum cs_status read_poison(const struct cs_golden_case *golden, struct cs_golden_poison *poison) {
    *poison = zeros;
    const json_t *json = json_object_get(golden->json, "poison");
    if (!json) {
        poison->reload = (uint8_t)strtoul(strrchr(golden->id, '/') + 1, NULL, 16);
        return CS_OK;
    }
    CS_TRY(poison_byte(json, "cold", &poison->cold));
    return poison_byte(json, "reload", &poison->reload);
}

/* What a run leaves to compare. */
struct trail {
    struct cs_golden_state started, after[CS_GOLDEN_LOADS], cold[2]; /* cold: of A and B */
};

static enum cs_status find_reference(const struct job *job, const char *against, const struct trail *trail,
                                     const struct cs_golden_state **reference, const json_t **hashes) {
    *hashes = NULL;
    *reference = &trail->after[0];
    if (cs_text_equal(against, "reload1")) return CS_OK;
    bool is_a = cs_text_equal(against, "coldA");
    CS_REQUIRE(is_a || cs_text_equal(against, "coldB"), CS_BAD_FILE, "golden file: a step is compared with \"%s\"",
               against);
    *reference = &trail->cold[is_a ? 0 : 1];
    *hashes = json_object_get(job->cold, is_a ? "cold_hash_A" : "cold_hash_B");
    return CS_OK;
}

static enum cs_status compare_step(const struct job *job, const struct cs_golden_sequence *sequence, const json_t *step,
                                   const struct trail *trail) {
    const char *label, *against;
    const json_t *differing, *moved, *rebound, *held, *hashes;
    const struct cs_golden_state *reference;
    CS_TRY(cs_golden_text(step, "step", &label));
    CS_TRY(cs_golden_text(step, "vs", &against));
    CS_TRY(cs_golden_array(step, "differing", &differing));
    CS_TRY(cs_golden_array(step, "moved", &moved));
    CS_TRY(cs_golden_array(step, "rebound", &rebound));
    CS_TRY(cs_golden_object(step, "held", &held));
    CS_TRY(find_reference(job, against, trail, &reference, &hashes));
    for (size_t i = 0; i < sequence->n_loads; i++) {
        if (!cs_text_equal(sequence->loads[i].label, label)) continue;
        CS_TRY(cs_golden_state_differs_as(differing, hashes, reference, &trail->after[i]));
        CS_TRY(cs_golden_state_moved_as(moved, false, &trail->started, &trail->after[i]));
        CS_TRY(cs_golden_state_moved_as(rebound, true, &trail->started, &trail->after[i]));
        return cs_golden_state_holds_as(held, &trail->started, &trail->after[i]);
    }
    return cs_fail(CS_BAD_FILE, "golden file: sequence %s has no step \"%s\"", sequence->name, label);
}

static enum cs_status compare_steps(const struct job *job, const struct cs_golden_sequence *sequence,
                                    const struct trail *trail) {
    const json_t *steps, *step;
    CS_TRY(cs_golden_array(job->golden->json, "steps", &steps));
    CS_REQUIRE(json_array_size(steps) > 0, CS_BAD_FILE, "golden file: the scenario has no steps");
    size_t i;
    json_array_foreach(steps, i, step) {
        enum cs_status status = compare_step(job, sequence, step, trail);
        if (status == CS_OK) continue;
        const char *reason = cs_arena_text(&job->golden->arena, cs_error_text());
        return cs_fail(status, "step %zu (%s): %s", i + 1, cs_golden_string(step, "step"), reason ? reason : "");
    }
    return CS_OK;
}

/* Runs the loads; `refused` is the status of the one that was not accepted. */
static enum cs_status run_loads(struct job *job, const struct cs_golden_sequence *sequence,
                                struct cs_golden_server *server, struct trail *trail, enum cs_status *refused) {
    struct cs_arena *arena = &job->golden->arena;
    CS_TRY(cs_golden_state_read(arena, server, &trail->started));
    for (size_t i = 0; i < sequence->n_loads; i++) {
        *refused = cs_golden_server_reload(server, &sequence->loads[i]);
        if (*refused != CS_OK) return CS_OK;
        CS_TRY(cs_golden_state_read(arena, server, &trail->after[i]));
    }
    return CS_OK;
}

static enum cs_status judge_run(struct job *job, const struct cs_golden_sequence *sequence, struct trail *trail,
                                enum cs_status refused) {
    const char *error = cs_golden_string(job->golden->json, "error");
    if (error) return cs_golden_refusal(error, refused);
    if (refused != CS_OK) return refused;
    CS_TRY(cold_state(job, zeros, "A", &trail->cold[0]));
    CS_TRY(cold_state(job, zeros, "B", &trail->cold[1]));
    return compare_steps(job, sequence, trail);
}

static enum cs_status attempt(struct cs_golden_case *golden, cs_defect_set defects) {
    struct job job;
    struct cs_golden_poison poison;
    struct cs_golden_server server;
    struct trail trail;
    const struct cs_golden_sequence *sequence = cs_golden_sequence_find(golden->id);
    enum cs_status refused = CS_OK;
    CS_TRY(start_job(golden, defects, &job));
    CS_TRY(read_poison(golden, &poison));
    enum cs_status status = cs_golden_server_start(&server, golden->device, &job.model, poison, defects, "A");
    if (status == CS_OK) status = run_loads(&job, sequence, &server, &trail, &refused);
    if (status == CS_OK) status = judge_run(&job, sequence, &trail, refused);
    cs_golden_server_close(&server);
    return status;
}

static enum cs_status check_sequence(struct cs_golden_case *golden) {
    return cs_golden_try_defect(golden, CS_DEFECT_STREAMED_PADDED_SPLIT, attempt);
}

/* ---- the file ---- */

static bool has_poison_in_id(const char *id) {
    const char *last = strrchr(id, '/') + 1;
    return strlen(last) == 2 && strspn(last, "0123456789abcdef") == 2;
}

/* Rows of refused scenarios say neither kind nor back end: theirs are known by the model's name. */
static bool is_our_model(const json_t *row, const char *id) {
    const char *kind = cs_golden_string(row, "kind"), *name = cs_golden_string(row, "backend");
    if (!kind && !name) return strncmp(id, "gptoss_", strlen("gptoss_")) == 0;
    const struct cs_method *method = cs_method_by_name("gpt_oss_mxfp4");
    const struct cs_backend *backend = method && name ? cs_backend_by_name(method, name) : NULL;
    return kind && cs_text_equal(kind, "gptoss") && backend && backend->steps;
}

/* Memory that was not filled with a byte cannot be had again. */
static cs_golden_check *check_of(const json_t *row, const char *id) {
    if (!is_our_model(row, id) || json_is_false(json_object_get(row, "replayable"))) return NULL;
    if (cs_golden_id_is(id, "cold_determinism")) return check_cold;
    return cs_golden_sequence_find(id) && has_poison_in_id(id) ? check_sequence : NULL;
}

static enum cs_status judge_all(struct cs_conform_run *run, const char *path, const json_t *root) {
    const json_t *scenarios = json_object_get(root, "scenarios"), *row;
    CS_REQUIRE(json_is_array(scenarios), CS_BAD_FILE, "%s: has no list \"scenarios\"", path);
    size_t i;
    json_array_foreach(scenarios, i, row) {
        const char *id = cs_golden_string(row, "id");
        CS_REQUIRE(id, CS_BAD_FILE, "%s: scenario %zu has no \"id\"", path, i);
        cs_golden_judge(run, "scenarios.json", id, row, scenarios, check_of(row, id));
    }
    return CS_OK;
}

enum cs_status cs_golden_reload(struct cs_conform_run *run) {
    struct cs_arena arena = {0};
    json_t *root = NULL;
    const char *path = cs_arena_format(&arena, "%s/scenarios.json", run->folder);
    enum cs_status status = path ? cs_golden_read(path, &root) : cs_fail(CS_NO_MEMORY, "no memory for a path");
    if (status == CS_OK) status = judge_all(run, path, root);
    json_decref(root);
    cs_arena_release(&arena);
    return status;
}
