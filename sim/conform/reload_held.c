/* What is reachable from quant configs and kernel objects, counted by access path. */
#include "sim/conform/reload.h"

#include <string.h>

static const struct cs_golden_tensor_state *find(const struct cs_golden_state *state, const char *path) {
    for (size_t i = 0; i < state->n_held; i++)
        if (cs_text_equal(state->held[i].name, path)) return &state->held[i];
    return NULL;
}

static bool is_at_same_address(const struct cs_golden_tensor_state *a, const struct cs_golden_tensor_state *b) {
    return a->storage_id == b->storage_id && cs_view_byte_offset(&a->view) == cs_view_byte_offset(&b->view);
}

static bool is_alias(const struct cs_golden_state *state, const struct cs_golden_tensor_state *held) {
    for (size_t i = 0; i < state->n; i++)
        if (is_at_same_address(&state->tensors[i], held)) return true;
    return false;
}

/* What a path's tensor went through; either side may be absent, not both. */
struct change {
    const struct cs_golden_state *before, *after;
    const struct cs_golden_tensor_state *old, *new;
};

static bool is_gone(const struct change *change) { return !change->new; }
static bool is_new(const struct change *change) { return !change->old; }
static bool has_moved(const struct change *change) {
    return change->old && change->new && !is_at_same_address(change->old, change->new);
}

static bool lost_alias(const struct change *change) {
    return change->old && change->new &&is_alias(change->before, change->old) && !is_alias(change->after, change->new);
}

static bool value_differs(const struct change *change) {
    if (!change->old || !change->new) return false;
    const struct cs_bytes *a = &change->old->bytes, *b = &change->new->bytes;
    return a->size != b->size || memcmp(a->data, b->data, a->size) != 0;
}

static const struct {
    const char *key;
    bool (*happened)(const struct change *change);
    bool may_be_short; /* the capture may have missed some */
} kinds[] = {
    {"gone", is_gone, false},
    {"new", is_new, false},
    {"moved", has_moved, true},
    {"lost_alias", lost_alias, false},
    {"value_differs", value_differs, false},
};

static bool lists(const json_t *list, const char *path) {
    size_t i;
    const json_t *entry;
    json_array_foreach(list, i,
                       entry) if (json_is_string(entry) && cs_text_equal(json_string_value(entry), path)) return true;
    return false;
}

static enum cs_status compare_path(const json_t *held, const char *path, const struct change *change) {
    for (size_t k = 0; k < CS_COUNT(kinds); k++) {
        bool expected = lists(json_object_get(held, kinds[k].key), path), actual = kinds[k].happened(change);
        CS_REQUIRE(expected == actual || (actual && kinds[k].may_be_short), CS_BAD_VALUE, "%s: expected %s: %s, got %s",
                   path, kinds[k].key, expected ? "yes" : "no", actual ? "yes" : "no");
    }
    return CS_OK;
}

/* Every path that a list names is one of ours. */
static enum cs_status knows_all(const json_t *held, const char *key, const struct cs_golden_state *before,
                                const struct cs_golden_state *after) {
    const json_t *list, *entry;
    CS_TRY(cs_golden_array(held, key, &list));
    size_t i;
    json_array_foreach(list, i, entry) {
        const char *path = json_string_value(entry);
        CS_REQUIRE(path, CS_BAD_FILE, "golden file: \"%s\"[%zu] is not a text", key, i);
        CS_REQUIRE(find(before, path) || find(after, path), CS_BAD_VALUE,
                   "%s: the real model holds this tensor, ours does not", path);
    }
    return CS_OK;
}

enum cs_status cs_golden_state_holds_as(const json_t *held, const struct cs_golden_state *before,
                                        const struct cs_golden_state *after) {
    int64_t n;
    CS_TRY(cs_golden_integer(held, "n_held", &n));
    CS_REQUIRE((size_t)n == after->n_held, CS_BAD_VALUE, "expected %" PRId64 " held tensors, got %zu", n,
               after->n_held);
    for (size_t k = 0; k < CS_COUNT(kinds); k++) CS_TRY(knows_all(held, kinds[k].key, before, after));
    for (size_t i = 0; i < after->n_held; i++) {
        const char *path = after->held[i].name;
        const struct change change = {before, after, find(before, path), &after->held[i]};
        CS_TRY(compare_path(held, path, &change));
    }
    for (size_t i = 0; i < before->n_held; i++) {
        const char *path = before->held[i].name;
        const struct change change = {before, after, &before->held[i], find(after, path)};
        CS_TRY(compare_path(held, path, &change));
    }
    return CS_OK;
}
