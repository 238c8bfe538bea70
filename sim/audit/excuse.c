/* Legitimate differences (R7): a scenario declares them with a reason, reports show them, and one that never was needed
 * is a failure. */
#include "sim/audit/state.h"

#include <stdio.h>

static bool names(const struct cs_excuse *declared, const char *module, const char *name) {
    char full[1024];
    snprintf(full, sizeof full, "%s.%s", module, name);
    return cs_text_matches(declared->tensor, full);
}

const struct cs_excuse *cs_excuse_of(const struct cs_scenario *scenario, const char *module, const char *name) {
    for (size_t i = 0; i < scenario->n_excuses; i++)
        if (names(&scenario->excuses[i], module, name)) return &scenario->excuses[i];
    return NULL;
}

static enum cs_status check(const struct cs_excuse *declared, const struct cs_view *view) {
    bool fits = declared->ndim == view->ndim;
    for (int d = 0; fits && d < view->ndim; d++)
        fits = declared->start[d] <= view->shape[d] && declared->length[d] <= view->shape[d] - declared->start[d];
    char text[CS_VIEW_TEXT];
    cs_view_text(view, text);
    CS_REQUIRE(fits, CS_BAD_SCRIPT, "differs: the region of \"%s\" does not fit a tensor that is %s", declared->tensor,
               text);
    return CS_OK;
}

static enum cs_status add_digest(const struct cs_device *device, const struct cs_view *view, uint64_t *digest) {
    uint64_t part;
    if (cs_view_numel(view) == 0) return CS_OK;
    CS_TRY(cs_device_digest(device, view, &part));
    *digest = cs_mix64(*digest + part);
    return CS_OK;
}

/* What is left of a box without a smaller one: for each dimension, what lies before and behind, within the earlier
 * dimensions' extent of the smaller one. */
enum cs_status cs_excuse_digests(const struct cs_device *device, const struct cs_view *view,
                                 const struct cs_excuse *declared, uint64_t *rest, uint64_t *excused) {
    *rest = *excused = 0;
    if (!declared->has_region) return add_digest(device, view, excused);
    CS_TRY(check(declared, view));
    struct cs_view inner = *view;
    for (int d = 0; d < view->ndim; d++) {
        int64_t end = declared->start[d] + declared->length[d];
        struct cs_view before = inner, behind = inner;
        CS_TRY(cs_view_narrow(&before, d, 0, declared->start[d]));
        CS_TRY(cs_view_narrow(&behind, d, end, view->shape[d] - end));
        CS_TRY(add_digest(device, &before, rest));
        CS_TRY(add_digest(device, &behind, rest));
        CS_TRY(cs_view_narrow(&inner, d, declared->start[d], declared->length[d]));
    }
    return add_digest(device, &inner, excused);
}

bool cs_excuse_covers(const struct cs_excuse *declared, const struct cs_view *view, int64_t element) {
    if (!declared) return false;
    if (!declared->has_region) return true;
    int64_t at[CS_NDIM] = {0};
    cs_view_unravel(view, element, at);
    for (int d = 0; d < view->ndim; d++)
        if (at[d] < declared->start[d] || at[d] >= declared->start[d] + declared->length[d]) return false;
    return true;
}

void cs_excuse_count(const struct cs_scenario *scenario, const struct cs_state *now, const struct cs_state *cold,
                     int64_t *n_excused) {
    for (size_t i = 0; i < now->n; i++) {
        const struct cs_entry *entry = &now->entries[i],
                              *fresh = entry->declared ? cs_state_find(cold, entry, i) : NULL;
        if (fresh && fresh->excused != entry->excused) n_excused[entry->declared - scenario->excuses]++;
    }
}

const char *cs_excuse_unused(const struct cs_scenario *scenario, const int64_t *n_excused, struct cs_arena *arena) {
    for (size_t i = 0; i < scenario->n_excuses; i++)
        if (!n_excused[i])
            return cs_arena_format(arena, "differs: \"%s\" is declared to differ (%s) and never did: take it out",
                                   scenario->excuses[i].tensor, scenario->excuses[i].reason);
    return NULL;
}
