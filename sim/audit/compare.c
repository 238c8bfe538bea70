/* The channels (R8.1), in the units of requirements R4. */
#include "sim/audit/state.h"

static bool is_same_address(const struct cs_entry *a, const struct cs_entry *b) {
    return a->storage_id == b->storage_id && a->byte_offset == b->byte_offset;
}

static void compare_params(const struct cs_state *now, const struct cs_state *cold, int64_t *count, int64_t *total,
                           const struct cs_entry **first) {
    for (size_t i = 0; i < cold->n; i++) {
        if (cold->entries[i].kind != CS_ENTRY_PARAM) continue;
        (*total)++;
        const struct cs_entry *entry = cs_state_find(now, &cold->entries[i], i);
        if (entry && !cs_entry_differs(entry, &cold->entries[i])) continue;
        count[CS_COUNT_params_differ]++;
        if (!*first) *first = entry;
    }
    for (size_t i = 0; i < now->n; i++) /* a name that the cold start does not have */
        if (now->entries[i].kind == CS_ENTRY_PARAM && !cs_state_find(cold, &now->entries[i], i))
            count[CS_COUNT_params_differ]++;
}

static void compare_addresses(const struct cs_state *now, const struct cs_state *own_cold, int64_t *count) {
    for (size_t i = 0; i < own_cold->n; i++) {
        const struct cs_entry *before = &own_cold->entries[i], *after = cs_state_find(now, before, i);
        if (before->kind == CS_ENTRY_HIDDEN) continue;
        if (before->kind == CS_ENTRY_PARAM) {
            count[CS_COUNT_params_moved] += after && !is_same_address(before, after);
        } else if (!after) {
            count[CS_COUNT_side_missing]++;
        } else if (before->is_alias) {
            count[CS_COUNT_side_extra] += !after->is_alias;
        } else {
            count[CS_COUNT_side_moved] += !is_same_address(before, after);
        }
    }
}

static void compare_sides(const struct cs_state *now, const struct cs_state *cold, int64_t *count) {
    for (size_t i = 0; i < now->n; i++) {
        const struct cs_entry *entry = &now->entries[i];
        if (entry->kind != CS_ENTRY_SIDE || entry->is_alias)
            continue; /* an alias is compared as the parameter that it is */
        const struct cs_entry *fresh = cs_state_find(cold, entry, i);
        count[CS_COUNT_side_differ] += fresh && cs_entry_differs(entry, fresh);
    }
}

/* Stride-only padding may differ: it is said, not compared (R7). */
static void count_gaps(const struct cs_state *now, int64_t *count) {
    for (size_t i = 0; i < now->n; i++) {
        const struct cs_view *view = &now->entries[i].view;
        int64_t bytes = (cs_view_numel(view) * cs_dtype_bits(view->dtype) + 7) / 8;
        if (now->entries[i].kind == CS_ENTRY_PARAM)
            count[CS_COUNT_gap_bytes] += (int64_t)cs_view_span_bytes(view) - bytes;
    }
}

static bool share(const struct cs_entry *a, const struct cs_entry *b) { return a->storage_id == b->storage_id; }

/* Pairs of registered names of one rank that share a storage in exactly one of the two states. */
static void compare_aliases(const struct cs_state *now, const struct cs_state *cold, int64_t *count) {
    for (size_t i = 0; i < cold->n; i++) {
        if (cold->entries[i].kind != CS_ENTRY_PARAM) continue;
        const struct cs_entry *a = cs_state_find(now, &cold->entries[i], i);
        for (size_t j = i + 1; a && j < cold->n && cold->entries[j].rank == cold->entries[i].rank; j++) {
            if (cold->entries[j].kind != CS_ENTRY_PARAM) continue;
            const struct cs_entry *b = cs_state_find(now, &cold->entries[j], j);
            count[CS_COUNT_alias_differ] += b && share(a, b) != share(&cold->entries[i], &cold->entries[j]);
        }
    }
}

void cs_state_compare(const struct cs_state *now, const struct cs_state *cold, const struct cs_state *own_cold,
                      int64_t *count, int64_t *total, const struct cs_entry **first) {
    *first = NULL;
    *total = 0;
    compare_params(now, cold, count, total, first);
    compare_addresses(now, own_cold, count);
    compare_sides(now, cold, count);
    count_gaps(now, count);
    compare_aliases(now, own_cold, count); /* whose ties are those of any cold start of this model */
}

const char *cs_state_undetermined(const struct cs_state *cold, const struct cs_state *garbage, struct cs_arena *arena) {
    for (size_t i = 0; i < cold->n; i++) {
        const struct cs_entry *a = &cold->entries[i], *b = cs_state_find(garbage, a, i);
        if (a->kind == CS_ENTRY_PARAM && (!b || cs_entry_differs(a, b)))
            return cs_arena_format(arena,
                                   "cold_undetermined: %s.%s of rank %d depends on what memory held at the cold start",
                                   a->spec->name, a->name, a->rank);
    }
    return NULL;
}

int64_t cs_state_changed(const struct cs_state *now, const struct cs_state *before) {
    int64_t changed = 0;
    for (size_t i = 0; i < before->n; i++) {
        const struct cs_entry *was = &before->entries[i], *is = cs_state_find(now, was, i);
        bool may_move = was->kind != CS_ENTRY_PARAM; /* side tensors are made anew by post-load */
        changed += !is || cs_entry_differs(is, was) || (!may_move && !is_same_address(is, was));
    }
    for (size_t i = 0; before->n && i < now->n; i++) changed += !cs_state_find(before, &now->entries[i], i);
    return changed;
}

int64_t cs_state_lucky(const struct cs_state *now, const struct cs_state *other, const struct cs_state *cold) {
    int64_t lucky = 0;
    for (size_t i = 0; i < cold->n; i++) {
        if (cold->entries[i].kind != CS_ENTRY_PARAM) continue;
        const struct cs_entry *a = cs_state_find(now, &cold->entries[i], i),
                              *b = cs_state_find(other, &cold->entries[i], i);
        lucky += a && b && !cs_entry_differs(a, &cold->entries[i]) && cs_entry_differs(b, &cold->entries[i]);
    }
    return lucky;
}
