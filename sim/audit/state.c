#include "sim/audit/state.h"

static enum cs_status add(struct cs_state *state, const struct cs_entry *entry, const struct cs_view *view) {
    struct cs_entry *added =
        cs_arena_grow(state->arena, (void **)&state->entries, state->n, &state->capacity, sizeof *added);
    CS_REQUIRE(added, CS_NO_MEMORY, "out of memory for a state of %zu tensors", state->n);
    *added = *entry;
    added->view = *view;
    added->storage_id = view->storage->id;
    added->byte_offset = cs_view_byte_offset(view);
    state->n++;
    return CS_OK;
}

/* Of the entries from `first` on; those that share a wait do. */
static enum cs_status add_digests(struct cs_state *state, const struct cs_device *device, size_t first) {
    const struct cs_view *views[CS_DIGESTS];
    uint64_t digests[CS_DIGESTS], *to[CS_DIGESTS];
    for (size_t i = first; i < state->n;) {
        size_t n = 0;
        for (; i < state->n && n < CS_DIGESTS; i++) {
            struct cs_entry *entry = &state->entries[i];
            if (entry->view.storage->kind != CS_STORAGE_MEMORY) continue;
            if (entry->declared)
                CS_TRY(cs_excuse_digests(device, &entry->view, entry->declared, &entry->digest, &entry->excused));
            else
                views[n] = &entry->view, to[n++] = &entry->digest;
        }
        CS_TRY(cs_device_digests(device, views, n, digests));
        for (size_t k = 0; k < n; k++) *to[k] = digests[k];
    }
    return CS_OK;
}

static bool is_registered_storage(const struct cs_rank *rank, const struct cs_storage *storage) {
    for (size_t m = 0; m < rank->n_modules; m++)
        for (size_t i = 0; i < rank->modules[m].n_slots; i++) {
            const struct cs_slot *slot = &rank->modules[m].slots[i];
            if (slot->kind != CS_PLAIN_TENSOR && slot->param && slot->param->view.storage == storage) return true;
        }
    return false;
}

/* A side tensor usually refers to its own module's parameters: look there first. */
static bool is_alias(const struct cs_module *module, const struct cs_storage *storage) {
    for (size_t i = 0; i < module->n_slots; i++) {
        const struct cs_slot *slot = &module->slots[i];
        if (slot->kind != CS_PLAIN_TENSOR && slot->param && slot->param->view.storage == storage) return true;
    }
    return is_registered_storage(module->rank, storage);
}

static bool is_listed(const struct cs_module *module, size_t side) {
    for (size_t i = 0; i < side; i++)
        if (cs_view_same_place(&module->sides[i].param->view, &module->sides[side].param->view)) return true;
    return false;
}

static enum cs_status capture_module(const struct cs_scenario *scenario, struct cs_module *module, size_t index,
                                     struct cs_state *state) {
    struct cs_entry entry = {.rank = module->rank->index, .module = index, .spec = module->spec};
    for (size_t i = 0; i < module->n_slots; i++) {
        const struct cs_slot *slot = &module->slots[i];
        if (!slot->param) continue;
        entry.kind = slot->kind == CS_PLAIN_TENSOR ? CS_ENTRY_SIDE : CS_ENTRY_PARAM;
        entry.name = slot->name;
        entry.declared = cs_excuse_of(scenario, module->spec->name, slot->name);
        CS_TRY(add(state, &entry, &slot->param->view));
    }
    for (size_t i = 0; i < module->n_sides; i++) {
        if (is_listed(module, i)) continue; /* counted once, however many paths lead to it */
        entry.kind = module->sides[i].is_hidden ? CS_ENTRY_HIDDEN : CS_ENTRY_SIDE;
        entry.name = module->sides[i].path;
        entry.declared = cs_excuse_of(scenario, module->spec->name, module->sides[i].path);
        entry.is_alias = is_alias(module, module->sides[i].param->view.storage);
        CS_TRY(add(state, &entry, &module->sides[i].param->view));
    }
    return CS_OK;
}

enum cs_status cs_state_capture(struct cs_session *session, bool has_digests, struct cs_state *state) {
    size_t first = state->n;
    for (size_t r = 0; r < session->n_ranks; r++)
        for (size_t m = 0; cs_session_asks(session, r) && m < session->ranks[r].n_modules; m++) {
            struct cs_module *module = &session->ranks[r].modules[m];
            if (module->spec) CS_TRY(capture_module(session->config.scenario, module, m, state));
        }
    return has_digests ? add_digests(state, session->config.device, first) : CS_OK;
}

static bool is_same(const struct cs_entry *a, const struct cs_entry *b) {
    return a->kind == b->kind && a->rank == b->rank && a->module == b->module && cs_text_equal(a->name, b->name);
}

const struct cs_entry *cs_state_find(const struct cs_state *state, const struct cs_entry *like, size_t hint) {
    if (hint < state->n && is_same(&state->entries[hint], like)) return &state->entries[hint];
    for (size_t i = 0; i < state->n; i++)
        if (is_same(&state->entries[i], like)) return &state->entries[i];
    return NULL;
}

bool cs_entry_differs(const struct cs_entry *a, const struct cs_entry *b) {
    return !cs_view_same_layout(&a->view, &b->view) || a->digest != b->digest;
}

static void add_tensors(uint64_t *digest, const struct cs_state *state) {
    for (size_t i = 0; i < state->n; i++) *digest = cs_mix64(*digest + state->entries[i].digest);
}

enum cs_status cs_verdict_add_states(struct cs_verdict *verdict, struct cs_arena *arena, int line,
                                     const struct cs_state *now, const struct cs_state *cold) {
    size_t most = verdict->scenario->n_ops + 1; /* each compares once, and what is left once */
    if (!verdict->states) verdict->states = CS_NEW_ARRAY(arena, struct cs_judged_state, most);
    CS_REQUIRE(verdict->states, CS_NO_MEMORY, "out of memory for the digests of %zu states", most);
    struct cs_judged_state *judged = &verdict->states[verdict->n_states++];
    *judged = (struct cs_judged_state){.line = line, .has_cold_start = cold != NULL};
    add_tensors(&judged->server, now);
    add_tensors(&verdict->digest, now);
    if (cold) add_tensors(&judged->cold_start, cold);
    if (cold) add_tensors(&verdict->digest, cold);
    return CS_OK;
}
