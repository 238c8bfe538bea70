#include "sim/conform/reload.h"

#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

/* An element of torch's float4_e2m1fn_x2 is two numbers. */
static void count_pairs(struct cs_view *view) {
    if (view->dtype != CS_E2M1) return;
    for (int d = 0; d < view->ndim - 1; d++) view->stride[d] /= 2;
    if (view->ndim > 0) view->shape[view->ndim - 1] /= 2;
}

static enum cs_status read_tensor(struct cs_arena *arena, const struct cs_module *module, const char *name,
                                  const struct cs_param *param, struct cs_golden_tensor_state *tensor) {
    tensor->name = cs_arena_format(arena, "%s.%s", module->spec->name, name);
    CS_REQUIRE(tensor->name, CS_NO_MEMORY, "no memory for a name");
    tensor->view = param->view;
    count_pairs(&tensor->view);
    tensor->storage_id = param->view.storage->id;
    tensor->param = param;
    return cs_bytes_of_view(arena, module->rank->device, &param->view, &tensor->bytes);
}

static enum cs_status read_module(struct cs_arena *arena, const struct cs_module *module,
                                  struct cs_golden_state *state) {
    for (size_t i = 0; i < module->n_slots; i++) {
        const struct cs_slot *slot = &module->slots[i];
        if (!slot->param || slot->kind == CS_PLAIN_TENSOR) continue;
        CS_TRY(read_tensor(arena, module, slot->name, slot->param, &state->tensors[state->n++]));
    }
    for (size_t i = 0; i < module->n_sides; i++) {
        struct cs_golden_tensor_state *side =
            module->spec->is_attention ? &state->numbers[state->n_numbers++] : &state->held[state->n_held++];
        CS_TRY(read_tensor(arena, module, module->sides[i].path, module->sides[i].param, side));
    }
    return CS_OK;
}

enum cs_status cs_golden_state_read(struct cs_arena *arena, struct cs_golden_server *server,
                                    struct cs_golden_state *state) {
    const struct cs_rank *rank = cs_golden_server_rank(server);
    size_t n = 1, n_held = 1;
    for (size_t m = 0; m < rank->n_modules; m++) {
        n += rank->modules[m].n_slots;
        n_held += rank->modules[m].n_sides;
    }
    *state = (struct cs_golden_state){.tensors = CS_NEW_ARRAY(arena, struct cs_golden_tensor_state, n),
                                      .held = CS_NEW_ARRAY(arena, struct cs_golden_tensor_state, n_held),
                                      .numbers = CS_NEW_ARRAY(arena, struct cs_golden_tensor_state, n_held)};
    CS_REQUIRE(state->tensors && state->held && state->numbers, CS_NO_MEMORY, "no memory for %zu tensors", n + n_held);
    for (size_t m = 0; m < rank->n_modules; m++) CS_TRY(read_module(arena, &rank->modules[m], state));
    return CS_OK;
}

const struct cs_golden_tensor_state *cs_golden_state_find(const struct cs_golden_state *state, const char *name) {
    for (size_t i = 0; i < state->n; i++)
        if (cs_text_equal(state->tensors[i].name, name)) return &state->tensors[i];
    return NULL;
}

enum cs_status cs_golden_state_has_number(const json_t *step, const char *key, const char *name,
                                          const struct cs_golden_state *state) {
    static const char layer[] = "layers.0.attn.";
    const json_t *expected = json_object_get(step, key);
    float number = 0;
    if (!expected) return CS_OK;
    for (size_t i = 0; i < state->n_numbers; i++) {
        const struct cs_golden_tensor_state *of = &state->numbers[i];
        if (strncmp(of->name, layer, strlen(layer)) != 0 || !cs_text_equal(of->name + strlen(layer), name)) continue;
        memcpy(&number, of->bytes.data, sizeof number);
        CS_REQUIRE((double)number == json_number_value(expected), CS_BAD_VALUE, "%s: %s: expected %g, got %g", of->name,
                   key, json_number_value(expected), (double)number);
        return CS_OK;
    }
    return cs_fail(CS_BAD_VALUE, "%s%s: the real model has this number, ours has not", layer, name);
}

/* ---- hashes and layouts ---- */

enum { HASH = 17 };

static const char *hash_of(const struct cs_golden_tensor_state *tensor, char text[HASH]) {
    snprintf(text, HASH, "%016" PRIx64, cs_fnv1a64(CS_FNV1A64_START, tensor->bytes.data, tensor->bytes.size));
    return text;
}

static enum cs_status has_hash(const char *what, const char *expected, const struct cs_golden_tensor_state *tensor) {
    char hash[HASH];
    CS_REQUIRE(expected, CS_BAD_FILE, "golden file: %s has no %s hash", tensor->name, what);
    CS_REQUIRE(cs_text_equal(expected, hash_of(tensor, hash)), CS_BAD_VALUE, "%s: %s hash: expected %s, got %s",
               tensor->name, what, expected, hash);
    return CS_OK;
}

static enum cs_status has_all_of(const json_t *object, const struct cs_golden_state *state) {
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)object, name, value) CS_REQUIRE(
        cs_golden_state_find(state, name), CS_BAD_VALUE, "%s: the real model has this tensor, ours has not", name);
    CS_REQUIRE(json_object_size(object) == state->n, CS_BAD_VALUE, "expected %zu tensors, got %zu",
               json_object_size(object), state->n);
    return CS_OK;
}

enum cs_status cs_golden_state_has_hashes(const json_t *hashes, const struct cs_golden_state *state) {
    CS_TRY(has_all_of(hashes, state));
    for (size_t i = 0; i < state->n; i++)
        CS_TRY(has_hash("cold", cs_golden_string(hashes, state->tensors[i].name), &state->tensors[i]));
    return CS_OK;
}

static bool is_list_of(const json_t *list, int ndim, const int64_t *numbers) {
    bool is_same = json_is_array(list) && json_array_size(list) == (size_t)ndim;
    for (int d = 0; d < ndim && is_same; d++)
        is_same = json_integer_value(json_array_get(list, (size_t)d)) == numbers[d];
    return is_same;
}

static enum cs_status has_layout(const json_t *shape, const json_t *stride, const char *dtype,
                                 const struct cs_golden_tensor_state *tensor) {
    const struct cs_view *view = &tensor->view;
    char text[CS_VIEW_TEXT];
    bool is_same = is_list_of(shape, view->ndim, view->shape) &&
                   (!stride || is_list_of(stride, view->ndim, view->stride)) && dtype &&
                   cs_text_equal(dtype, cs_dtype_torch(view->dtype));
    CS_REQUIRE(is_same, CS_BAD_SHAPE, "%s: got %s, which is not the expected shape, stride or dtype", tensor->name,
               cs_view_text(view, text));
    return CS_OK;
}

enum cs_status cs_golden_state_has_layouts(const json_t *layouts, const struct cs_golden_state *state) {
    CS_TRY(has_all_of(layouts, state));
    for (size_t i = 0; i < state->n; i++) {
        const json_t *row = json_object_get(layouts, state->tensors[i].name);
        CS_TRY(has_layout(json_array_get(row, 0), json_array_get(row, 1), json_string_value(json_array_get(row, 2)),
                          &state->tensors[i]));
    }
    return CS_OK;
}

/* ---- differences ---- */

struct difference {
    int64_t n;
    int64_t low[CS_NDIM], high[CS_NDIM]; /* of the differing elements' coordinates */
};

/* The two have the same layout. */
static struct difference difference_of(const struct cs_golden_tensor_state *a, const struct cs_golden_tensor_state *b) {
    struct difference difference = {0};
    size_t width = a->view.dtype == CS_E2M1 ? 1 : (size_t)cs_dtype_bits(a->view.dtype) / 8;
    for (size_t i = 0; i < a->bytes.size / width; i++) {
        if (memcmp(a->bytes.data + i * width, b->bytes.data + i * width, width) == 0) continue;
        int64_t at[CS_NDIM];
        cs_view_unravel(&a->view, (int64_t)i, at);
        for (int d = 0; d < a->view.ndim; d++) {
            if (difference.n == 0 || at[d] < difference.low[d]) difference.low[d] = at[d];
            if (difference.n == 0 || at[d] > difference.high[d]) difference.high[d] = at[d];
        }
        difference.n++;
    }
    return difference;
}

static enum cs_status has_box(const json_t *box, const struct difference *difference,
                              const struct cs_golden_tensor_state *tensor) {
    if (tensor->view.ndim == 0 && json_is_null(box)) return CS_OK; /* one number */
    CS_REQUIRE(json_is_array(box) && json_array_size(box) == (size_t)tensor->view.ndim, CS_BAD_FILE,
               "golden file: %s: \"bbox\" has not one range per dimension", tensor->name);
    for (int d = 0; d < tensor->view.ndim; d++) {
        int64_t range[2];
        CS_TRY(cs_golden_integers(json_array_get(box, (size_t)d), "bbox", 2, range));
        CS_REQUIRE(range[0] == difference->low[d] && range[1] == difference->high[d], CS_BAD_VALUE,
                   "%s: differing elements of dimension %d: expected %" PRId64 " to %" PRId64 ", got %" PRId64
                   " to %" PRId64,
                   tensor->name, d, range[0], range[1], difference->low[d], difference->high[d]);
    }
    return CS_OK;
}

static enum cs_status differs_as_listed(const json_t *entry, const struct cs_golden_tensor_state *reference,
                                        const struct cs_golden_tensor_state *tensor) {
    int64_t n;
    CS_TRY(has_layout(json_object_get(entry, "shape"), NULL, cs_golden_string(entry, "dtype"), reference));
    CS_TRY(has_layout(json_object_get(entry, "shape"), NULL, cs_golden_string(entry, "dtype"), tensor));
    CS_TRY(has_hash("reference", cs_golden_string(entry, "ref_fnv64"), reference));
    struct difference difference = difference_of(reference, tensor);
    CS_TRY(cs_golden_integer(entry, "n_diff", &n));
    CS_REQUIRE(n == difference.n, CS_BAD_VALUE,
               "%s: expected %" PRId64 " elements to differ from the cold start, got %" PRId64, tensor->name, n,
               difference.n);
    CS_TRY(has_box(json_object_get(entry, "bbox"), &difference, tensor));
    return has_hash("reloaded", cs_golden_string(entry, "got_fnv64"), tensor);
}

static const json_t *entry_named(const json_t *list, const char *name) {
    size_t i;
    const json_t *entry;
    json_array_foreach(list, i, entry) {
        const char *of = cs_golden_string(entry, "name");
        if (of && cs_text_equal(of, name)) return entry;
    }
    return NULL;
}

/* A tensor that is not listed: equal to the cold start, and to its hash. */
static enum cs_status is_unchanged(const json_t *hashes, const struct cs_golden_tensor_state *reference,
                                   const struct cs_golden_tensor_state *tensor) {
    bool has_same_layout = cs_view_same_layout(&reference->view, &tensor->view);
    CS_REQUIRE(has_same_layout, CS_BAD_SHAPE,
               "%s: expected to equal the cold start, got another shape, stride or dtype", tensor->name);
    int64_t n = difference_of(reference, tensor).n;
    CS_REQUIRE(n == 0, CS_BAD_VALUE, "%s: expected to equal the cold start, got %" PRId64 " differing elements",
               tensor->name, n);
    return hashes ? has_hash("cold", cs_golden_string(hashes, tensor->name), tensor) : CS_OK;
}

enum cs_status cs_golden_state_differs_as(const json_t *list, const json_t *hashes,
                                          const struct cs_golden_state *reference,
                                          const struct cs_golden_state *state) {
    size_t i;
    const json_t *entry;
    CS_REQUIRE(state->n == reference->n, CS_BAD_VALUE, "expected %zu tensors, got %zu", reference->n, state->n);
    json_array_foreach(list, i, entry) {
        const char *name;
        CS_TRY(cs_golden_text(entry, "name", &name));
        CS_REQUIRE(cs_golden_state_find(state, name), CS_BAD_VALUE, "%s: the real model has this tensor, ours has not",
                   name);
    }
    for (i = 0; i < state->n; i++) {
        const struct cs_golden_tensor_state *tensor = &state->tensors[i],
                                            *of = cs_golden_state_find(reference, tensor->name);
        CS_REQUIRE(of, CS_BAD_VALUE, "%s: is not in the cold start", tensor->name);
        entry = entry_named(list, tensor->name);
        CS_TRY(entry ? differs_as_listed(entry, of, tensor) : is_unchanged(hashes, of, tensor));
    }
    return CS_OK;
}

enum cs_status cs_golden_state_differs_by(const json_t *counts, const struct cs_golden_state *a,
                                          const struct cs_golden_state *b) {
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)counts, name, value) CS_REQUIRE(
        cs_golden_state_find(a, name), CS_BAD_VALUE, "%s: the real model has this tensor, ours has not", name);
    for (size_t i = 0; i < a->n; i++) {
        const struct cs_golden_tensor_state *tensor = &a->tensors[i], *other = cs_golden_state_find(b, tensor->name);
        CS_REQUIRE(other && cs_view_same_layout(&tensor->view, &other->view), CS_BAD_VALUE, "%s: changed its layout",
                   tensor->name);
        int64_t expected = 0, n = difference_of(tensor, other).n;
        if (json_object_get(counts, tensor->name)) CS_TRY(cs_golden_integer(counts, tensor->name, &expected));
        CS_REQUIRE(n == expected, CS_BAD_VALUE, "%s: expected %" PRId64 " padding elements, got %" PRId64, tensor->name,
                   expected, n);
    }
    return CS_OK;
}

/* ---- addresses ---- */

static bool names(const json_t *list, const char *name) {
    size_t i;
    const json_t *entry;
    json_array_foreach(list, i,
                       entry) if (json_is_string(entry) && cs_text_equal(json_string_value(entry), name)) return true;
    return false;
}

enum cs_status cs_golden_state_moved_as(const json_t *list, bool by_object, const struct cs_golden_state *before,
                                        const struct cs_golden_state *after) {
    const char *what = by_object ? "another object" : "another address";
    for (size_t i = 0; i < after->n; i++) {
        const struct cs_golden_tensor_state *tensor = &after->tensors[i],
                                            *old = cs_golden_state_find(before, tensor->name);
        CS_REQUIRE(old, CS_BAD_VALUE, "%s: appeared in the reload", tensor->name);
        bool has_moved = by_object ? old->param != tensor->param
                                   : old->storage_id != tensor->storage_id ||
                                         cs_view_byte_offset(&old->view) != cs_view_byte_offset(&tensor->view);
        bool expected = names(list, tensor->name);
        CS_REQUIRE(has_moved == expected, CS_BAD_VALUE, "%s: expected %s%s after the reload, got the contrary",
                   tensor->name, expected ? "" : "not ", what);
    }
    CS_REQUIRE(before->n == after->n, CS_BAD_VALUE, "expected %zu tensors after the reload, got %zu", before->n,
               after->n);
    return CS_OK;
}
