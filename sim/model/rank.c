/* Device work of one rank, noted in the log, and the life of its storages. */
#include "sim/model/model.h"

int64_t cs_rank_expert_slot(const struct cs_rank_spec *rank, int64_t expert) {
    int64_t ep = rank->sizes.ep > 0 ? rank->sizes.ep : 1;
    if (rank->is_round_robin) return expert % ep == rank->ep_rank ? expert / ep : -1;
    bool is_here = expert >= rank->first_expert && expert < rank->first_expert + rank->sizes.experts;
    return is_here ? expert - rank->first_expert : -1;
}

static size_t bytes_for(const struct cs_view *layout) { return cs_view_span_bytes(layout); }

typedef enum cs_status allocate_storage(struct cs_allocator *allocator, size_t bytes, enum cs_dtype dtype,
                                        const char *label, struct cs_storage **storage);

static enum cs_status allocate_as(struct cs_rank *rank, allocate_storage *allocate, const struct cs_view *layout,
                                  const char *label, struct cs_view *view) {
    struct cs_view fresh = *layout;
    fresh.offset = 0;
    CS_TRY(allocate(&rank->allocator, bytes_for(&fresh), fresh.dtype, label, &fresh.storage));
    cs_log_note(rank->log,
                &(struct cs_log_entry){.kind = CS_LOG_ALLOCATE, .who = label, .what = label, .destination = fresh});
    *view = fresh;
    return CS_OK;
}

enum cs_status cs_rank_allocate(struct cs_rank *rank, const struct cs_view *layout, const char *label,
                                struct cs_view *view) {
    return allocate_as(rank, cs_allocate, layout, label, view);
}

/* Elements that fill their bytes, without gaps and without an end in the middle of a byte. */
static bool is_whole(const struct cs_view *view) {
    return cs_view_is_contiguous(view) && cs_view_numel(view) * cs_dtype_bits(view->dtype) % 8 == 0;
}

enum cs_status cs_rank_allocate_result(struct cs_rank *rank, const struct cs_view *layout, const char *label,
                                       struct cs_view *view) {
    return allocate_as(rank, is_whole(layout) ? cs_allocate_result : cs_allocate, layout, label, view);
}

enum cs_status cs_rank_allocate_meta(struct cs_rank *rank, const struct cs_view *layout, const char *label,
                                     struct cs_view *view) {
    struct cs_view fresh = *layout;
    fresh.offset = 0;
    CS_TRY(cs_allocate_kind(&rank->allocator, CS_STORAGE_META, bytes_for(&fresh), NULL, NULL, label, &fresh.storage));
    *view = fresh;
    return CS_OK;
}

static void note_copy(struct cs_rank *rank, const struct cs_log_entry *entry) {
    if (entry->destination.storage->kind == CS_STORAGE_MEMORY) cs_log_note(rank->log, entry);
}

enum cs_status cs_rank_copy(struct cs_rank *rank, enum cs_log_kind kind, const char *who, const char *what,
                            const struct cs_view *destination, const struct cs_view *source) {
    CS_TRY(cs_device_copy(rank->device, destination, source));
    note_copy(rank, &(struct cs_log_entry){.kind = kind,
                                           .who = who,
                                           .what = what,
                                           .destination = *destination,
                                           .source = *source,
                                           .has_source = true});
    return CS_OK;
}

static bool is_all_of_its_storage(const struct cs_view *view) {
    return is_whole(view) && cs_view_byte_offset(view) == 0 && cs_view_span_bytes(view) == view->storage->bytes;
}

enum cs_status cs_rank_move(struct cs_rank *rank, enum cs_log_kind kind, const char *who, const char *what,
                            const struct cs_view *destination, const struct cs_view *source) {
    bool is_exchange = cs_view_same_layout(destination, source) && is_all_of_its_storage(destination) &&
                       is_all_of_its_storage(source) &&
                       cs_allocator_exchange(&rank->allocator, destination->storage, source->storage);
    if (!is_exchange) return cs_rank_copy(rank, kind, who, what, destination, source);
    note_copy(rank, &(struct cs_log_entry){.kind = kind,
                                           .who = who,
                                           .what = what,
                                           .destination = *destination,
                                           .source = *source,
                                           .has_source = true,
                                           .is_exchange = true});
    return CS_OK;
}

static enum cs_status fill_whole(struct cs_rank *rank, const struct cs_view *view, uint64_t bits) {
    struct cs_fill fill = {.view = *view, .bits = bits};
    return cs_device_fill(rank->device, &fill, 1);
}

static enum cs_status fill_rising(struct cs_rank *rank, const struct cs_view *view) {
    for (int64_t i = 0; i < cs_view_numel(view); i++) { /* torch.arange: a handful of frequencies */
        struct cs_view element = {.storage = view->storage, .offset = cs_view_element(view, i), .dtype = view->dtype};
        uint64_t bits;
        CS_TRY(cs_dtype_encode(view->dtype, (double)i, &bits));
        CS_TRY(fill_whole(rank, &element, bits));
    }
    return CS_OK;
}

enum cs_status cs_rank_initialise(struct cs_rank *rank, const struct cs_tensor_spec *spec, const struct cs_view *view) {
    static const double value_of[] = {[CS_INIT_ZEROS] = 0.0, [CS_INIT_ONES] = 1.0, [CS_INIT_VALUE] = 0.0};
    bool has_bytes =
        spec->init != CS_INIT_EMPTY && spec->init != CS_INIT_META && view->storage->kind == CS_STORAGE_MEMORY;
    if (!has_bytes) return CS_OK;
    if (spec->init == CS_INIT_ARANGE) {
        CS_TRY(fill_rising(rank, view));
    } else if (spec->init == CS_INIT_ONES && !cs_dtype_is_floating(spec->dtype)) {
        CS_TRY(fill_whole(rank, view, 1)); /* integer ones: byte 0x01 of an e8m0 scale kept as u8 */
    } else {
        uint64_t bits;
        CS_TRY(
            cs_dtype_encode(view->dtype, spec->init == CS_INIT_VALUE ? spec->init_value : value_of[spec->init], &bits));
        CS_TRY(fill_whole(rank, view, bits));
    }
    cs_log_note(rank->log, &(struct cs_log_entry){
                               .kind = CS_LOG_INIT, .who = "create_weights", .what = spec->name, .destination = *view});
    return CS_OK;
}

static void mark_slots(const struct cs_module *module) {
    for (size_t i = 0; i < module->n_slots; i++)
        if (module->slots[i].param && module->slots[i].param->view.storage)
            module->slots[i].param->view.storage->is_reachable = true;
    for (size_t i = 0; i < module->n_sides; i++) module->sides[i].param->view.storage->is_reachable = true;
}

void cs_rank_sweep(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) mark_slots(&rank->modules[m]);
    if (rank->mark_roots) rank->mark_roots(rank);
    if (rank->transport) rank->transport->is_reachable = true;
    cs_allocator_sweep(&rank->allocator);
}
