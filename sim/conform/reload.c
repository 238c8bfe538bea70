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
    const struct cs_op start = {.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = checkpoint};
    enum cs_status status =
        cs_golden_server_start(&server, job->golden->device, &job->model, poison, job->defects, &start);
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

static enum cs_status attempt_cold(struct cs_golden_case *golden, cs_defect_set defects) {
    struct job job;
    const json_t *a, *b, *layouts;
    struct cs_golden_state state_a, state_b;
    CS_TRY(start_job(golden, defects, &job));
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

/* Rows of refused scenarios only have it in their id, or nowhere. */
static enum cs_status read_poison(const struct cs_golden_case *golden, struct cs_golden_poison *poison) {
    *poison = zeros;
    poison->reload = 0xAA;
    const json_t *json = json_object_get(golden->json, "poison");
    const char *last = strrchr(golden->id, '/');
    bool is_in_id = last && strlen(last) == 3 && strspn(last + 1, "0123456789abcdef") == 2;
    if (json_is_object(json)) {
        CS_TRY(poison_byte(json, "cold", &poison->cold));
        return poison_byte(json, "reload", &poison->reload);
    }
    if (is_in_id) poison->reload = (uint8_t)strtoul(last + 1, NULL, 16);
    return CS_OK;
}

/* What a run leaves to compare. */
struct trail {
    struct cs_golden_state started, after[CS_GOLDEN_LOADS], cold[3]; /* cold: of A, B and, if the model has it, C */
};

static enum cs_status find_reference(const struct job *job, const char *against, const struct trail *trail,
                                     const struct cs_golden_state **reference, const json_t **hashes) {
    *hashes = NULL;
    *reference = cs_text_equal(against, "before") ? &trail->started : &trail->after[0];
    if (cs_text_equal(against, "before") || cs_text_equal(against, "reload1")) return CS_OK;
    static const char *const colds[] = {"coldA", "coldB", "coldC"},
                             *const lists[] = {"cold_hash_A", "cold_hash_B", "cold_hash_C"};
    size_t i = 0, n = job->model.has_attention ? 3 : 2;
    while (i < n && !cs_text_equal(against, colds[i])) i++;
    CS_REQUIRE(i < n, CS_BAD_FILE, "golden file: a step is compared with \"%s\"", against);
    *reference = &trail->cold[i];
    *hashes = json_object_get(job->cold, lists[i]);
    return CS_OK;
}

/* Names alone. */
static enum cs_status differs_in(const json_t *names, const struct cs_golden_state *reference,
                                 const struct cs_golden_state *state) {
    for (size_t i = 0; i < state->n; i++) {
        const struct cs_golden_tensor_state *tensor = &state->tensors[i],
                                            *of = cs_golden_state_find(reference, tensor->name);
        bool expected = false, differs = !of || !cs_view_same_layout(&of->view, &tensor->view) ||
                                         cs_bytes_equal(tensor->name, &of->bytes, &tensor->bytes) != CS_OK;
        size_t n;
        const json_t *name;
        json_array_foreach(names, n, name) expected =
            expected || (json_is_string(name) && cs_text_equal(json_string_value(name), tensor->name));
        CS_REQUIRE(differs == expected, CS_BAD_VALUE, "%s: expected %s cold start of A, got the contrary", tensor->name,
                   expected ? "to differ from the" : "to equal the");
    }
    return CS_OK;
}

static enum cs_status is_tied_as(const json_t *step, const struct cs_golden_state *state) {
    const json_t *expected = json_object_get(step, "still_tied_object");
    if (!expected) return CS_OK;
    const struct cs_golden_tensor_state *a = cs_golden_state_find(state, "embed.weight"),
                                        *b = cs_golden_state_find(state, "lm_head.weight");
    bool is_tied = a && b && a->param == b->param;
    CS_REQUIRE(is_tied == json_is_true(expected), CS_BAD_VALUE, "lm_head.weight: expected %s object as embed.weight",
               json_is_true(expected) ? "the same" : "another");
    return CS_OK;
}

static enum cs_status compare_state(const struct job *job, const json_t *step, const struct trail *trail,
                                    const struct cs_golden_state *state) {
    const char *against;
    const json_t *differing, *moved, *rebound, *held, *hashes, *from_a = json_object_get(step, "vs_coldA");
    const struct cs_golden_state *reference;
    CS_TRY(cs_golden_text(step, "vs", &against));
    CS_TRY(cs_golden_array(step, "differing", &differing));
    CS_TRY(cs_golden_array(step, "moved", &moved));
    CS_TRY(cs_golden_array(step, "rebound", &rebound));
    CS_TRY(cs_golden_object(step, "held", &held));
    CS_TRY(find_reference(job, against, trail, &reference, &hashes));
    CS_TRY(cs_golden_state_differs_as(differing, hashes, reference, state));
    if (from_a) CS_TRY(differs_in(from_a, &trail->cold[0], state));
    CS_TRY(cs_golden_state_moved_as(moved, false, &trail->started, state));
    CS_TRY(cs_golden_state_moved_as(rebound, true, &trail->started, state));
    CS_TRY(is_tied_as(step, state));
    CS_TRY(cs_golden_state_has_number(step, "k_scale_float", "_k_scale_float", state));
    CS_TRY(cs_golden_state_has_number(step, "cold_k_scale_float", "_k_scale_float", reference));
    return cs_golden_state_holds_as(held, &trail->started, state);
}

static enum cs_status compare_step(const struct job *job, const struct cs_golden_sequence *sequence, const json_t *step,
                                   const struct trail *trail) {
    const char *label;
    CS_TRY(cs_golden_text(step, "step", &label));
    for (size_t i = 0; i < sequence->n_loads; i++)
        if (sequence->loads[i].label && cs_text_equal(sequence->loads[i].label, label))
            return compare_state(job, step, trail, &trail->after[i]);
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
        const char *label = cs_golden_string(step, "step");
        return cs_fail(status, "step %zu%s%s%s: %s", i + 1, label ? " (" : "", label ? label : "", label ? ")" : "",
                       reason ? reason : "");
    }
    return CS_OK;
}

/* The scenario's own list, or that of its only step. */
static const json_t *left_on_meta(const struct cs_golden_case *golden, const json_t **pending) {
    const json_t *list = json_object_get(golden->json, "meta_after_abort"),
                 *step = json_array_get(json_object_get(golden->json, "steps"), 0);
    *pending = json_object_get(step, "pending_after_abort");
    if (!list) list = json_object_get(golden->json, "meta_after");
    return list ? list : json_object_get(step, "meta_after_abort");
}

/* Runs the loads; `refused` is the status of the one that was not accepted. */
static enum cs_status run_loads(struct job *job, const struct cs_golden_sequence *sequence,
                                struct cs_golden_server *server, struct trail *trail, enum cs_status *refused) {
    struct cs_arena *arena = &job->golden->arena;
    const json_t *pending, *meta = left_on_meta(job->golden, &pending);
    CS_TRY(cs_golden_state_read(arena, server, &trail->started));
    for (size_t i = 0; i < sequence->n_loads; i++) {
        bool is_interrupted = sequence->loads[i].change == CS_GOLDEN_HALF;
        *refused = cs_golden_server_reload(server, &sequence->loads[i]);
        const char *reason = cs_arena_text(arena, *refused == CS_OK ? "" : cs_error_text());
        bool is_final = *refused != CS_OK && !json_object_get(job->golden->json, "steps");
        bool is_left = is_interrupted || (is_final && i == 0);
        if (meta && is_left) CS_TRY(cs_golden_server_is_left_as(server, meta, is_interrupted ? pending : NULL));
        if (*refused != CS_OK) {
            cs_fail(*refused, "%s", reason ? reason : "");
            return CS_OK;
        }
        if (!is_interrupted) CS_TRY(cs_golden_state_read(arena, server, &trail->after[i]));
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
    if (job->model.has_attention) CS_TRY(cold_state(job, zeros, "C", &trail->cold[2]));
    return compare_steps(job, sequence, trail);
}

static enum cs_status run_sequence(struct job *job, const struct cs_golden_sequence *sequence,
                                   const struct cs_op *start) {
    struct cs_golden_poison poison;
    struct cs_golden_server server;
    struct trail trail;
    enum cs_status refused = CS_OK;
    CS_TRY(read_poison(job->golden, &poison));
    enum cs_status status =
        cs_golden_server_start(&server, job->golden->device, &job->model, poison, job->defects, start);
    if (status == CS_OK) status = run_loads(job, sequence, &server, &trail, &refused);
    if (status == CS_OK) status = judge_run(job, sequence, &trail, refused);
    cs_golden_server_close(&server);
    return status;
}

static enum cs_status attempt_sequence(struct cs_golden_case *golden, cs_defect_set defects) {
    static const struct cs_op start = {.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = "A"};
    struct job job;
    CS_TRY(start_job(golden, defects, &job));
    return run_sequence(&job, cs_golden_sequence_find(golden->id), &start);
}

/* A server that was built on the meta device, and given a finished one's tensors. */
static enum cs_status attempt_meta_built(struct cs_golden_case *golden, cs_defect_set defects) {
    static const struct cs_op start = {.kind = CS_OP_COLD_START, .driver = "meta_build", .checkpoint = "A"};
    static const struct cs_golden_sequence sequence = {"meta_built", 1, {{.label = "reloadB", .checkpoint = "B"}}};
    struct job job;
    CS_TRY(start_job(golden, defects, &job));
    return run_sequence(&job, &sequence, &start);
}

/* ---- a cold start that changes what it reads ---- */

static enum cs_status compare_changed(const json_t *mutated, const struct cs_accounting *accounting) {
    CS_REQUIRE(json_array_size(mutated) == accounting->n_changed, CS_BAD_VALUE,
               "expected %zu checkpoint tensors to be changed, got %zu", json_array_size(mutated),
               accounting->n_changed);
    for (size_t i = 0; i < accounting->n_changed; i++) {
        const char *name = json_string_value(json_array_get(mutated, i));
        CS_REQUIRE(name && cs_text_equal(name, accounting->changed[i]), CS_BAD_VALUE,
                   "expected %s to be changed, got %s", name ? name : "(no name)", accounting->changed[i]);
    }
    return CS_OK;
}

static enum cs_status attempt_source(struct cs_golden_case *golden, cs_defect_set defects) {
    static const struct cs_op start = {
        .kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = "A", .bucket_tensors = 1};
    struct job job;
    const json_t *mutated;
    struct cs_golden_server server;
    CS_TRY(start_job(golden, defects, &job));
    CS_TRY(cs_golden_array(golden->json, "mutated", &mutated));
    enum cs_status status = cs_golden_server_start(&server, golden->device, &job.model, zeros, defects, &start);
    if (status == CS_OK) status = compare_changed(mutated, &server.session.accounting);
    cs_golden_server_close(&server);
    return status;
}

/* ---- the file ---- */

static enum cs_status check_cold(struct cs_golden_case *golden) {
    return cs_golden_try_defect(golden, CS_DEFECT_BLOCK_LOADER_FILLS, attempt_cold);
}

/* What the released engine gets wrong in this scenario: its way to split streamed tensors, or its way to fill blocks.
 */
static enum cs_status check_sequence(struct cs_golden_case *golden) {
    bool is_streamed = cs_golden_id_is(golden->id, "split_differently_streamed");
    return cs_golden_try_defect(golden, is_streamed ? CS_DEFECT_STREAMED_PADDED_SPLIT : CS_DEFECT_BLOCK_LOADER_FILLS,
                                attempt_sequence);
}

static enum cs_status check_meta_built(struct cs_golden_case *golden) {
    return cs_golden_try_defect(golden, CS_DEFECT_META_RESTORE_DEVICE, attempt_meta_built);
}

static enum cs_status check_source(struct cs_golden_case *golden) {
    return cs_golden_try_defect(golden, CS_DEFECT_SOURCE_ZEROED, attempt_source);
}

static cs_golden_check *check_of(const char *id) {
    if (cs_golden_id_is(id, "cold_determinism")) return check_cold;
    if (cs_text_equal(id, "meta_built")) return check_meta_built;
    if (cs_text_equal(id, "gptoss_source_mutated")) return check_source;
    return cs_golden_sequence_find(id) ? check_sequence : NULL;
}

/* Hashes of everything that a reload leaves, post-load included. */
bool cs_golden_describe_reload(const json_t *row, const void *scenarios, struct cs_conform_subject *subject) {
    struct cs_golden_model model;
    if (cs_golden_model_find(scenarios, row, &model) != CS_OK) return false;
    subject->method = cs_method_by_name(model.kind->method);
    subject->backend = cs_backend_by_name(subject->method, model.backend);
    subject->loader = cs_loader_by_name(model.kind->loader);
    subject->has_post_load = true;
    return subject->backend != NULL;
}

static enum cs_status judge_all(struct cs_conform_run *run, const char *path, const json_t *root) {
    const json_t *scenarios = json_object_get(root, "scenarios"), *row;
    CS_REQUIRE(json_is_array(scenarios), CS_BAD_FILE, "%s: has no list \"scenarios\"", path);
    size_t i;
    json_array_foreach(scenarios, i, row) {
        const char *id = cs_golden_string(row, "id");
        CS_REQUIRE(id, CS_BAD_FILE, "%s: scenario %zu has no \"id\"", path, i);
        if (json_is_false(json_object_get(row, "replayable")))
            cs_golden_cannot_replay(run, "scenarios.json", id);
        else
            cs_golden_judge(run, "scenarios.json", id, row, scenarios, check_of(id));
    }
    return CS_OK;
}

enum cs_status cs_golden_reload(struct cs_conform_run *run) {
    struct cs_arena arena = {0};
    json_t *root = NULL;
    const char *path = cs_arena_format(&arena, "%s/scenarios.json", run->folder);
    enum cs_status status = path ? cs_read_json(path, &root) : cs_fail(CS_NO_MEMORY, "no memory for a path");
    if (status == CS_OK) status = judge_all(run, path, root);
    json_decref(root);
    cs_arena_release(&arena);
    return status;
}
