#include "sim/model/model.h"

static int64_t bytes_of(const struct cs_view *view) { return cs_view_numel(view) * cs_dtype_bits(view->dtype) / 8; }

void cs_log_note(struct cs_log *log, const struct cs_log_entry *entry) {
    if (entry->kind != CS_LOG_ALLOCATE && !entry->is_exchange)
        log->bytes_moved += bytes_of(&entry->destination) + (entry->has_source ? bytes_of(&entry->source) : 0);
    if (!log->is_tracing || log->is_full) return;
    log->is_full = log->n_entries == CS_LOG_MOST;
    if (log->is_full) return;
    struct cs_log_entry *kept =
        cs_arena_grow(log->arena, (void **)&log->entries, log->n_entries, &log->capacity, sizeof *kept);
    if (!kept) return;
    *kept = *entry;
    kept->rank = log->rank;
    kept->load = log->load;
    kept->destination_id = entry->destination.storage ? entry->destination.storage->id : 0;
    kept->source_id = entry->has_source && entry->source.storage ? entry->source.storage->id : 0;
    if (entry->kind == CS_LOG_ALLOCATE && entry->destination.storage) kept->origin = entry->destination.storage->origin;
    log->n_entries++;
}
