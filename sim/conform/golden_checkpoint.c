/* The checkpoint of a loader case: a list of [name, shape, dtype]. */
#include "sim/conform/internal.h"

#include <stdlib.h>
#include <string.h>

/* Everything before the tensor's own name and an expert number. */
static size_t prefix_length(const char *name) {
    const char *end = strrchr(name, '.');
    if (!end) return 0;
    const char *part = end;
    while (part > name && part[-1] != '.') part--;
    bool is_number = part < end && strspn(part, "0123456789") == (size_t)(end - part);
    return (size_t)((is_number && part > name ? part - 1 : end) - name);
}

enum cs_status cs_golden_prefix(struct cs_golden_case *golden, const json_t *list, const char **prefix) {
    const char *first = json_string_value(json_array_get(json_array_get(list, 0), 0));
    if (!first) first = ""; /* refused while creating: there is no checkpoint */
    *prefix = cs_arena_format(&golden->arena, "%.*s", (int)prefix_length(first), first);
    CS_REQUIRE(*prefix, CS_NO_MEMORY, "no memory for a name");
    return CS_OK;
}

struct reader {
    struct cs_arena *arena;
    size_t n, capacity;
    struct cs_golden_tensor *tensors;
    int64_t n_elements;
};

static enum cs_status add_tensor(struct reader *reader, const char *name, const json_t *row) {
    void *items = reader->tensors;
    struct cs_golden_tensor *tensor =
        cs_arena_grow(reader->arena, &items, reader->n, &reader->capacity, sizeof *tensor);
    CS_REQUIRE(tensor && name, CS_NO_MEMORY, "no memory for the checkpoint's tensors");
    reader->tensors = items;
    const json_t *shape = json_array_get(row, 1);
    const char *dtype = json_string_value(json_array_get(row, 2)), *last = strrchr(name, '.');
    CS_REQUIRE(dtype && json_is_array(shape) && json_array_size(shape) <= CS_NDIM, CS_BAD_FILE,
               "golden file: checkpoint tensor %s has no shape or no dtype", name);
    tensor->name = name;
    tensor->kind = last ? last + 1 : name;
    size_t prefix = prefix_length(name);
    tensor->expert = last && name + prefix < last ? strtoll(name + prefix + 1, NULL, 10) : -1;
    tensor->ndim = (int)json_array_size(shape);
    CS_TRY(cs_golden_integers(shape, "checkpoint", (size_t)tensor->ndim, tensor->shape));
    CS_TRY(cs_dtype_parse(dtype, &tensor->dtype));

    struct cs_view view;
    CS_TRY(cs_view_make(&view, NULL, tensor->dtype, tensor->ndim, tensor->shape));
    tensor->n_elements = cs_view_numel(&view);
    tensor->start = reader->n_elements;
    tensor->columns = 1;
    for (int d = tensor->expert < 0 ? 2 : 1; d < tensor->ndim; d++) tensor->columns *= tensor->shape[d];
    reader->n++;
    reader->n_elements += tensor->n_elements;
    CS_REQUIRE(tensor->n_elements < INT32_MAX && reader->n_elements < INT32_MAX, CS_BAD_FILE,
               "golden file: the checkpoint has more than %d elements", INT32_MAX);
    return CS_OK;
}

/* "… same for the other experts": the list only has the first ones. */
static enum cs_status add_other_experts(struct reader *reader, const json_t *list, const char *prefix,
                                        int64_t n_tensors) {
    size_t n_listed = reader->n;
    int64_t per_expert = 0, n_experts = 0;
    for (size_t i = 0; i < n_listed; i++) {
        CS_REQUIRE(reader->tensors[i].expert >= 0, CS_BAD_FILE, "golden file: the checkpoint's list is cut short");
        per_expert += reader->tensors[i].expert == 0;
        n_experts = reader->tensors[i].expert + 1 > n_experts ? reader->tensors[i].expert + 1 : n_experts;
    }
    CS_REQUIRE(per_expert > 0 && n_listed == (size_t)(per_expert * n_experts), CS_BAD_FILE,
               "golden file: the checkpoint's list stops within an expert");
    for (int64_t e = n_experts; e < n_tensors / per_expert; e++)
        for (size_t i = 0; i < (size_t)per_expert; i++) {
            const char *name = cs_arena_format(reader->arena, "%s.%" PRId64 ".%s", prefix, e, reader->tensors[i].kind);
            CS_TRY(add_tensor(reader, name, json_array_get(list, i)));
        }
    return CS_OK;
}

enum cs_status cs_golden_checkpoint_read(struct cs_golden_case *golden, struct cs_golden_checkpoint *checkpoint) {
    struct reader reader = {.arena = &golden->arena};
    const json_t *list, *row;
    const char *prefix;
    CS_TRY(cs_golden_array(golden->json, "checkpoint", &list));
    CS_TRY(cs_golden_prefix(golden, list, &prefix));
    size_t i;
    json_array_foreach(list, i, row) {
        const char *name = json_string_value(json_array_get(row, 0));
        CS_REQUIRE(name, CS_BAD_FILE, "golden file: checkpoint tensor %zu has no name", i);
        const json_t *total = json_array_get(row, 1);
        CS_TRY(json_is_integer(total) ? add_other_experts(&reader, list, prefix, json_integer_value(total))
                                      : add_tensor(&reader, cs_arena_text(reader.arena, name), row));
    }
    *checkpoint = (struct cs_golden_checkpoint){reader.n, reader.tensors, reader.n_elements};
    return CS_OK;
}

enum cs_status cs_golden_checkpoint_make(const struct cs_golden_checkpoint *golden, unsigned digit, unsigned raise,
                                         struct cs_checkpoint *checkpoint) {
    cs_checkpoint_init(checkpoint, "digits");
    for (size_t i = 0; i < golden->n; i++) {
        const struct cs_golden_tensor *tensor = &golden->tensors[i];
        const struct cs_content content = {
            .kind = CS_CONTENT_DIGIT, .as = tensor->dtype, .key = (uint64_t)tensor->start + raise, .shift = digit};
        CS_TRY(cs_checkpoint_add(checkpoint, tensor->name, tensor->dtype, tensor->ndim, tensor->shape, &content));
    }
    return CS_OK;
}
