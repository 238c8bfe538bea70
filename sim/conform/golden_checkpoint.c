/* The checkpoint of a loader case: a list of [name, shape, dtype]. */
#include "sim/conform/internal.h"

#include <stdlib.h>
#include <string.h>

/* A name in parts: prefix . expert . kind, each of which but the last may be missing:
 * "model.layers.0.mlp.experts.3.gate_proj.weight", "0.up_proj.bias", "layers.0.feed_forward.experts.down_proj",
 * "down_proj". */
struct parts {
    size_t prefix;  /* its length */
    int64_t expert; /* -1: all of them */
    const char *kind;
};

/* Length of the number at the start of `text` when it is a whole part. */
static size_t number_length(const char *text) {
    size_t n = strspn(text, "0123456789");
    return n && text[n] == '.' ? n : 0;
}

static struct parts parts_of(const char *name) {
    static const char experts[] = "experts.";
    const char *at = strstr(name, experts), *last = strrchr(name, '.');
    size_t n;
    if (at) {
        at += sizeof experts - 1;
        n = number_length(at);
        return (struct parts){(size_t)(at - name) - 1, n ? strtoll(at, NULL, 10) : -1, n ? at + n + 1 : at};
    }
    if ((n = number_length(name))) return (struct parts){0, strtoll(name, NULL, 10), name + n + 1};
    const char *part = last;
    while (part && part > name && part[-1] != '.') part--;
    n = part && part > name ? number_length(part) : 0;
    if (n) return (struct parts){(size_t)(part - name) - 1, strtoll(part, NULL, 10), last + 1};
    return (struct parts){last ? (size_t)(last - name) : 0, -1, last ? last + 1 : name};
}

enum cs_status cs_golden_prefix(struct cs_golden_case *golden, const json_t *list, const char **prefix) {
    const char *first = json_string_value(json_array_get(json_array_get(list, 0), 0));
    if (!first) first = ""; /* refused while creating: there is no checkpoint */
    *prefix = cs_arena_format(&golden->arena, "%.*s", (int)parts_of(first).prefix, first);
    CS_REQUIRE(*prefix, CS_NO_MEMORY, "no memory for a name");
    return CS_OK;
}

struct reader {
    struct cs_arena *arena;
    size_t n, capacity;
    struct cs_golden_tensor *tensors;
    int64_t n_elements;
};

static bool is_listed(const struct reader *reader, const char *name) {
    for (size_t i = 0; i < reader->n; i++)
        if (cs_text_equal(reader->tensors[i].name, name)) return true;
    return false;
}

static enum cs_status add_tensor(struct reader *reader, const char *name, const json_t *row) {
    void *items = reader->tensors;
    struct cs_golden_tensor *tensor =
        cs_arena_grow(reader->arena, &items, reader->n, &reader->capacity, sizeof *tensor);
    CS_REQUIRE(tensor && name, CS_NO_MEMORY, "no memory for the checkpoint's tensors");
    reader->tensors = items;
    const json_t *shape = json_array_get(row, 1);
    const char *dtype = json_string_value(json_array_get(row, 2));
    CS_REQUIRE(dtype && json_is_array(shape) && json_array_size(shape) <= CS_NDIM, CS_BAD_FILE,
               "golden file: checkpoint tensor %s has no shape or no dtype", name);
    struct parts parts = parts_of(name);
    bool is_repeated = is_listed(reader, name);
    tensor->name = is_repeated ? cs_arena_format(reader->arena, "%s#again", name) : name;
    tensor->kind = is_repeated ? cs_arena_format(reader->arena, "again.%s", parts.kind) : parts.kind;
    CS_REQUIRE(tensor->name && tensor->kind, CS_NO_MEMORY, "no memory for the checkpoint's tensors");
    tensor->expert = parts.expert;
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

/* "… same for the other experts": the list has the first ones, the last of them perhaps in part. Expert 0 says what
 * each has. */
static enum cs_status add_other_experts(struct reader *reader, const json_t *list, const char *prefix,
                                        int64_t n_tensors) {
    int64_t per_expert = 0;
    for (size_t i = 0; i < reader->n; i++) {
        CS_REQUIRE(reader->tensors[i].expert >= 0, CS_BAD_FILE, "golden file: the checkpoint's list is cut short");
        per_expert += reader->tensors[i].expert == 0;
    }
    CS_REQUIRE(per_expert > 0 && n_tensors >= (int64_t)reader->n && n_tensors % per_expert == 0, CS_BAD_FILE,
               "golden file: the checkpoint's list has no whole expert");
    for (int64_t i = (int64_t)reader->n; i < n_tensors; i++) {
        size_t like = (size_t)(i % per_expert);
        const char *dot = *prefix ? "." : "";
        const char *name = cs_arena_format(reader->arena, "%s%s%" PRId64 ".%s", prefix, dot, i / per_expert,
                                           reader->tensors[like].kind);
        CS_TRY(add_tensor(reader, name, json_array_get(list, like)));
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
    *checkpoint =
        (struct cs_golden_checkpoint){.n = reader.n, .tensors = reader.tensors, .n_elements = reader.n_elements};
    return CS_OK;
}

static bool is_constant(const struct cs_golden_checkpoint *golden, const struct cs_golden_tensor *tensor) {
    size_t length = strlen(tensor->name), end = golden->constant ? strlen(golden->constant) : length + 1;
    return end <= length && cs_text_equal(tensor->name + length - end, golden->constant);
}

enum cs_status cs_golden_checkpoint_make(const struct cs_golden_checkpoint *golden, unsigned digit, unsigned raise,
                                         struct cs_checkpoint *checkpoint) {
    cs_checkpoint_init(checkpoint, "digits");
    for (size_t i = 0; i < golden->n; i++) {
        const struct cs_golden_tensor *tensor = &golden->tensors[i];
        struct cs_content content = {
            .kind = CS_CONTENT_DIGIT, .as = tensor->dtype, .key = (uint64_t)tensor->start + raise, .shift = digit};
        if (is_constant(golden, tensor)) {
            content = (struct cs_content){.kind = CS_CONTENT_VALUE, .as = tensor->dtype};
            CS_TRY(cs_dtype_encode(tensor->dtype, 0.5, &content.key));
        }
        CS_TRY(cs_checkpoint_add(checkpoint, tensor->name, tensor->dtype, tensor->ndim, tensor->shape, &content));
    }
    return CS_OK;
}
