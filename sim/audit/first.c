/* The first difference, in the user's coordinates, and what kind of byte it is. Bytes of the cold start are made again
 * for this one module and rank; padding is what changes when the module is created over 0x00 and over 0xFF and nothing
 * refills it. */
#include "sim/audit/state.h"

#include <stdlib.h>
#include <string.h>

const char *cs_byte_class_name(enum cs_byte_class byte_class) {
    static const char *const names[] = {[CS_BYTE_PAYLOAD] = "payload",
                                        [CS_BYTE_SCALE] = "scale",
                                        [CS_BYTE_PADDING] = "padding",
                                        [CS_BYTE_LAYOUT] = "layout"};
    return names[byte_class];
}

enum cs_status cs_cold_session(const struct cs_session_config *config, const char *checkpoint,
                               struct cs_session *session) {
    const struct cs_op op = {.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = checkpoint};
    CS_TRY(cs_session_open(session, config));
    return cs_session_run(session, &op);
}

/* The live session's configuration, for a cold start of the entry's module. */
static struct cs_session_config config_of(const struct cs_case *failing, const struct cs_entry *entry,
                                          const char *policy) {
    struct cs_session_config config = failing->live->config;
    config.policy = policy;
    config.is_tracing = false;
    config.module_is_loaded = NULL;
    config.only_module = entry->spec->name;
    config.only_rank = entry->rank;
    return config;
}

/* ---- one tensor of two servers ---- */

struct pair {
    const struct cs_device *device;
    const struct cs_entry *entry;
    const struct cs_view *live;
    bool exists;                  /* after a cold start too, in the same layout */
    struct cs_difference between; /* .first: -1 as long as none is known */
    uint64_t expected, actual;    /* bits of that element */
};

typedef enum cs_status visit_pair(struct pair *pair, const struct cs_view *cold);

/* Calls `visit` with the tensor's view after a cold start of one module. */
static enum cs_status with_cold_view(const struct cs_session_config *config, const struct cs_case *failing,
                                     visit_pair *visit, struct pair *pair) {
    struct cs_session session;
    enum cs_status status = cs_cold_session(config, failing->checkpoint, &session);
    pair->exists = false;
    if (status == CS_OK) {
        struct cs_slot *slot = cs_module_slot(&session.ranks[pair->entry->rank].modules[0], pair->entry->name);
        pair->exists = slot && slot->param && cs_view_same_layout(&slot->param->view, &pair->entry->view);
        if (pair->exists) status = visit(pair, &slot->param->view);
    }
    cs_session_close(&session);
    return status;
}

static enum cs_status read_element(const struct cs_device *device, const struct cs_view *view, int64_t i,
                                   uint64_t *bits) {
    const struct cs_view element = {.storage = view->storage, .offset = cs_view_element(view, i), .dtype = view->dtype};
    *bits = 0; /* little-endian: the low bytes come first */
    return cs_device_read(device, &element, bits, (size_t)(cs_dtype_bits(view->dtype) + 7) / 8);
}

/* ---- which element differs ---- */

static enum cs_status read_view(const struct cs_device *device, const struct cs_view *view, unsigned char **bytes) {
    size_t size = (size_t)(cs_view_numel(view) * cs_dtype_bits(view->dtype) + 7) / 8;
    *bytes = malloc(size ? size : 1);
    CS_REQUIRE(*bytes, CS_NO_MEMORY, "out of memory for %zu bytes to compare", size);
    return cs_device_read(device, view, *bytes, size);
}

static bool is_same_element(const unsigned char *a, const unsigned char *b, int bits, int64_t i) {
    if (bits < 8) return (a[i / 2] >> (i % 2 * 4) & 15) == (b[i / 2] >> (i % 2 * 4) & 15);
    return memcmp(a + i * (bits / 8), b + i * (bits / 8), (size_t)bits / 8) == 0;
}

/* What may differ lies among the rest: on the host, element by element. */
static enum cs_status compare_what_must_agree(struct pair *pair, const struct cs_view *cold) {
    unsigned char *expected = NULL, *actual = NULL;
    enum cs_status status = read_view(pair->device, cold, &expected);
    if (status == CS_OK) status = read_view(pair->device, pair->live, &actual);
    for (int64_t i = 0; status == CS_OK && i < cs_view_numel(cold); i++) {
        bool is_right = is_same_element(expected, actual, cs_dtype_bits(cold->dtype), i) ||
                        cs_excuse_covers(pair->entry->declared, &pair->entry->view, i);
        if (!is_right && pair->between.n_elements++ == 0) pair->between.first = i;
    }
    free(expected);
    free(actual);
    return status;
}

/* Without memory on one side, an abandoned reload's, there is no element to show. */
static enum cs_status compare_pair(struct pair *pair, const struct cs_view *cold) {
    if (pair->live->storage->kind != CS_STORAGE_MEMORY) return CS_OK;
    CS_TRY(pair->entry->declared ? compare_what_must_agree(pair, cold)
                                 : cs_device_compare(pair->device, cold, pair->live, &pair->between));
    if (pair->between.first < 0) return CS_OK;
    CS_TRY(read_element(pair->device, cold, pair->between.first, &pair->expected));
    return read_element(pair->device, pair->live, pair->between.first, &pair->actual);
}

static enum cs_status read_expected(struct pair *pair, const struct cs_view *cold) {
    return read_element(pair->device, cold, pair->between.first, &pair->expected);
}

/* ---- in the user's words ---- */

static bool has_experts(const struct cs_entry *entry) { return entry->spec->backend && entry->spec->backend->upstream; }

static void place(struct cs_first *first, const struct cs_entry *entry, int64_t element) {
    int64_t at[CS_NDIM] = {0};
    cs_view_unravel(&entry->view, element, at);
    int d = 0;
    first->expert = has_experts(entry) && entry->view.ndim > 1 ? at[d++] : -1;
    first->row = d < entry->view.ndim ? at[d++] : -1;
    first->column = d < entry->view.ndim ? at[d++] : -1;
    for (; d < entry->view.ndim; d++)
        first->column = first->column * entry->view.shape[d] + at[d]; /* trailing dimensions side by side */
}

static bool is_scale(const struct cs_entry *entry) {
    for (size_t i = 0; i < entry->spec->n_tensors; i++)
        if (cs_text_equal(entry->spec->tensors[i].name, entry->name)) return entry->spec->tensors[i].is_scale;
    return false;
}

static enum cs_status class_of(const struct cs_case *failing, const struct pair *differing,
                               enum cs_byte_class *byte_class) {
    struct cs_session_config config = config_of(failing, differing->entry, "none");
    struct pair zeros = *differing, ones = *differing;
    config.has_prefill = true;
    CS_TRY(with_cold_view(&config, failing, read_expected, &zeros));
    config.prefill = 0xFF;
    CS_TRY(with_cold_view(&config, failing, read_expected, &ones));
    if (!zeros.exists || !ones.exists) return CS_OK;
    *byte_class = zeros.expected != ones.expected ? CS_BYTE_PADDING
                  : is_scale(differing->entry)    ? CS_BYTE_SCALE
                                                  : CS_BYTE_PAYLOAD;
    return CS_OK;
}

enum cs_status cs_first_difference(const struct cs_case *failing, const struct cs_entry *entry, struct cs_arena *arena,
                                   struct cs_first *first, int64_t *element) {
    *element = -1;
    *first = (struct cs_first){.exists = true,
                               .rank = entry->rank,
                               .layer = entry->spec->layer,
                               .expert = -1,
                               .row = -1,
                               .column = -1,
                               .byte_class = CS_BYTE_LAYOUT,
                               .dtype = entry->view.dtype};
    first->tensor = cs_arena_format(arena, "%s.%s", entry->spec->name, entry->name);
    struct cs_slot *slot = cs_module_slot(&failing->live->ranks[entry->rank].modules[entry->module], entry->name);
    struct cs_session_config config = config_of(failing, entry, failing->cold_policy);
    struct pair pair = {
        .device = failing->live->config.device, .entry = entry, .live = &slot->param->view, .between.first = -1};
    CS_TRY(with_cold_view(&config, failing, compare_pair, &pair));
    bool is_layout = !pair.exists || pair.live->storage->kind != CS_STORAGE_MEMORY;
    if (is_layout) return CS_OK;
    first->n_total = cs_view_numel(&entry->view);
    first->n_elements = pair.between.n_elements;
    if (pair.between.first < 0) return CS_OK;
    *element = pair.between.first;
    first->expected = pair.expected;
    first->actual = pair.actual;
    place(first, entry, *element);
    return class_of(failing, &pair, &first->byte_class);
}
