/* What the captured cases prove, without running them. */
#include "sim/conform/internal.h"

#include <string.h>

static bool is_same(const struct cs_conform_subject *a, const struct cs_conform_subject *b) {
    bool is_same_operation =
        a->operation == b->operation || (a->operation && b->operation && cs_text_equal(a->operation, b->operation));
    return is_same_operation && a->table == b->table && a->also[0] == b->also[0] && a->also[1] == b->also[1] && a->method == b->method && a->backend == b->backend &&
           a->loader == b->loader && a->has_post_load == b->has_post_load;
}

enum cs_status cs_golden_add_subject(struct cs_conform_run *run, const struct cs_conform_subject *subject) {
    struct cs_conform_subjects *list = run->subjects;
    size_t i = 0;
    while (i < list->n && !is_same(&list->items[i], subject)) i++;
    if (i == list->n) {
        struct cs_conform_subject *added =
            cs_arena_grow(run->arena, (void **)&list->items, list->n, &list->capacity, sizeof *added);
        const char *operation = subject->operation ? cs_arena_text(run->arena, subject->operation) : NULL;
        CS_REQUIRE(added && (operation || !subject->operation), CS_NO_MEMORY, "no memory for what cases are about");
        *added = *subject;
        added->operation = operation; /* the JSON goes away */
        list->n++;
    }
    list->items[i].n_cases++;
    return CS_OK;
}

/* ---- loading ---- */

enum cs_proof cs_conform_proves_loading(const struct cs_conform_subjects *subjects, const struct cs_method *method,
                                        const struct cs_backend *backend, const struct cs_loader *loader) {
    enum cs_proof proof = CS_PROOF_NOTHING;
    for (size_t i = 0; i < subjects->n; i++) {
        const struct cs_conform_subject *subject = &subjects->items[i];
        if (subject->method != method || subject->loader != loader) continue;
        if (subject->backend == backend) return CS_PROOF_BYTES;
        proof = CS_PROOF_PARTS;
    }
    return proof;
}

/* ---- post-load ---- */

static bool is_captured_table(const struct cs_conform_subjects *subjects, const struct cs_step_table *table) {
    for (size_t i = 0; i < subjects->n; i++)
        if (subjects->items[i].table == table || subjects->items[i].also[0] == table || subjects->items[i].also[1] == table) return true;
    return false;
}

/* A layout's row names the operation that proves it, and then perhaps more. */
static bool is_captured_layout(const struct cs_conform_subjects *subjects, const char *name) {
    const struct cs_layout *layout = cs_layout_by_name(name);
    for (size_t i = 0; layout && i < subjects->n; i++) {
        const char *operation = subjects->items[i].operation;
        size_t n = operation ? strlen(operation) : 0;
        bool is_named = n && strncmp(layout->golden, operation, n) == 0;
        if (is_named && (!layout->golden[n] || strchr(" ,", layout->golden[n]))) return true;
    }
    return false;
}

struct proving {
    const struct cs_conform_subjects *subjects;
    size_t n_proved, n_missing;
    const char *missing; /* the first one */
};

static void count(struct proving *proving, bool is_proved, const char *name) {
    proving->n_proved += is_proved;
    proving->n_missing += !is_proved;
    if (!is_proved && !proving->missing) proving->missing = name;
}

/* Casts are captured for every number; what only looks at bytes, or keeps them, needs no proof. */
static bool changes_bytes(enum cs_step_kind kind) {
    static const enum cs_step_kind kinds[] = {CS_STEP_PAD, CS_STEP_ZERO, CS_STEP_MAP, CS_STEP_UPDATE, CS_STEP_MAXIMUM};
    for (size_t i = 0; i < CS_COUNT(kinds); i++)
        if (kinds[i] == kind) return true;
    return false;
}

static void prove_steps(struct proving *proving, const struct cs_step *steps, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct cs_step *step = &steps[i];
        if (step->kind == CS_STEP_CALL && is_captured_table(proving->subjects, step->table))
            count(proving, true, step->table->name);
        else if (step->kind == CS_STEP_CALL)
            prove_steps(proving, step->table->steps, step->table->n_steps);
        else if (changes_bytes(step->kind))
            count(proving, false, step->text ? step->text : step->param);
        for (size_t c = 0; step->kind == CS_STEP_RELAYOUT && c < CS_CHAIN && step->chain[c]; c++)
            count(proving, is_captured_layout(proving->subjects, step->chain[c]), step->chain[c]);
    }
}

enum cs_proof cs_conform_proves_post_load(const struct cs_conform_subjects *subjects, const struct cs_backend *backend,
                                          const char **missing) {
    *missing = NULL;
    for (size_t i = 0; i < subjects->n; i++)
        if (subjects->items[i].has_post_load && subjects->items[i].backend == backend) return CS_PROOF_BYTES;
    if (!backend->steps) return CS_PROOF_NOTHING;
    struct proving proving = {.subjects = subjects};
    prove_steps(&proving, backend->steps, *backend->n_steps);
    *missing = proving.missing;
    if (!proving.n_missing) return CS_PROOF_BYTES;
    return proving.n_proved ? CS_PROOF_PARTS : CS_PROOF_NOTHING;
}
