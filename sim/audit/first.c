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

static enum cs_status read_view(const struct cs_device *device, const struct cs_view *view, unsigned char **bytes) {
    size_t size = (size_t)(cs_view_numel(view) * cs_dtype_bits(view->dtype) + 7) / 8;
    *bytes = malloc(size ? size : 1);
    CS_REQUIRE(*bytes, CS_NO_MEMORY, "out of memory for %zu bytes to compare", size);
    return cs_device_read(device, view, *bytes, size);
}

/* The parameter's bytes after a cold start of one module; NULL when it has another layout there. */
static enum cs_status cold_bytes(const struct cs_session_config *config, const struct cs_case *failing,
                                 const struct cs_entry *entry, unsigned char **bytes) {
    struct cs_session session;
    *bytes = NULL;
    enum cs_status status = cs_cold_session(config, failing->checkpoint, &session);
    if (status == CS_OK) {
        struct cs_slot *slot = cs_module_slot(&session.ranks[entry->rank].modules[0], entry->name);
        bool is_same = slot && slot->param && cs_view_same_layout(&slot->param->view, &entry->view);
        if (is_same) status = read_view(failing->live->config.device, &slot->param->view, bytes);
    }
    cs_session_close(&session);
    return status;
}

static uint64_t element_bits(const unsigned char *bytes, int bits, int64_t i) {
    if (bits < 8) return bytes[i / 2] >> (i % 2 * 4) & 15;
    uint64_t value = 0;
    memcpy(&value, bytes + i * (bits / 8), (size_t)bits / 8);
    return value;
}

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

static enum cs_status class_of(const struct cs_case *failing, const struct cs_entry *entry, int64_t element,
                               enum cs_byte_class *byte_class) {
    struct cs_session_config config = config_of(failing, entry, "none");
    unsigned char *zeros = NULL, *ones = NULL;
    config.has_prefill = true;
    enum cs_status status = cold_bytes(&config, failing, entry, &zeros);
    config.prefill = 0xFF;
    if (status == CS_OK) status = cold_bytes(&config, failing, entry, &ones);
    if (status == CS_OK && zeros && ones) {
        int bits = cs_dtype_bits(entry->view.dtype);
        bool is_padding = element_bits(zeros, bits, element) != element_bits(ones, bits, element);
        *byte_class = is_padding ? CS_BYTE_PADDING : is_scale(entry) ? CS_BYTE_SCALE : CS_BYTE_PAYLOAD;
    }
    free(zeros);
    free(ones);
    return status;
}

static void compare_bytes(const struct cs_entry *entry, const unsigned char *expected, const unsigned char *actual,
                          struct cs_first *first, int64_t *element) {
    int bits = cs_dtype_bits(entry->view.dtype);
    first->n_total = cs_view_numel(&entry->view);
    for (int64_t i = 0; i < first->n_total; i++) {
        uint64_t a = element_bits(expected, bits, i), b = element_bits(actual, bits, i);
        if (a == b || cs_excuse_covers(entry->declared, &entry->view, i)) continue;
        if (first->n_elements++ == 0) {
            *element = i;
            first->expected = a;
            first->actual = b;
        }
    }
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
    unsigned char *expected = NULL, *actual = NULL;
    enum cs_status status = cold_bytes(&config, failing, entry, &expected);
    /* Another layout, or an abandoned reload's tensor without memory: there is no element to show. */
    bool is_layout = status == CS_OK && (!expected || slot->param->view.storage->kind != CS_STORAGE_MEMORY);
    if (is_layout) {
        free(expected);
        return CS_OK;
    }
    if (status == CS_OK) status = read_view(failing->live->config.device, &slot->param->view, &actual);
    if (status == CS_OK) compare_bytes(entry, expected, actual, first, element);
    free(expected);
    free(actual);
    if (status != CS_OK || *element < 0) return status;
    place(first, entry, *element);
    return class_of(failing, entry, *element, &first->byte_class);
}
