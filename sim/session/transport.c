/* How the bytes of a load travel: each tensor on its own, or packed into buckets; in memory of the bucket's own, or in
 * one buffer that every bucket overwrites, whoever still reads the one before; in shards of several trainers. */
#include "sim/session/internal.h"

#include <math.h>
#include <string.h>

enum { ALIGNMENT = 256 };

static size_t entry_bytes(const struct cs_arrival *arrival) {
    size_t bytes = arrival->entry ? arrival->entry->bytes : 0;
    for (size_t p = 0; p < arrival->n_parts; p++) bytes += arrival->parts[p]->bytes;
    if (arrival->is_slice && arrival->entry->shape[0] > 0) bytes /= (size_t)arrival->entry->shape[0];
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

enum cs_status cs_transport_open(struct cs_transport *transport) {
    const struct cs_op *op = transport->op;
    transport->has_buckets = op->bucket_bytes || op->bucket_tensors || op->pieces > 1;
    transport->first = transport->end = 0;
    if (!transport->has_buckets) return CS_OK;
    transport->views = CS_NEW_ARRAY(transport->arena, struct cs_view, transport->arrivals->n + 1);
    transport->digests = CS_NEW_ARRAY(transport->arena, uint64_t, transport->arrivals->n + 1);
    CS_REQUIRE(transport->views && transport->digests, CS_NO_MEMORY, "out of memory for buckets of %zu tensors",
               transport->arrivals->n);
    transport->rank->transport = NULL;
    return CS_OK;
}

/* ---- what arrives, before it is packed ---- */

static enum cs_status source_of_entry(const struct cs_transport *transport, const struct cs_checkpoint_entry *entry,
                                      struct cs_view *source) {
    return cs_checkpoint_source(cs_session_checkpoint(transport->session, transport->op->checkpoint), entry,
                                &transport->rank->allocator, source);
}

/* Experts one behind the other, in one tensor. */
static enum cs_status merge(struct cs_transport *transport, const struct cs_arrival *arrival, struct cs_view *source) {
    struct cs_view layout, part, to;
    CS_TRY(cs_view_make(&layout, NULL, arrival->route->dtype, arrival->route->ndim, arrival->route->shape));
    CS_TRY(cs_rank_allocate(transport->rank, &layout, arrival->name, source));
    int64_t offset = 0;
    for (size_t p = 0; p < arrival->n_parts; p++) {
        CS_TRY(source_of_entry(transport, arrival->parts[p], &part));
        to = part;
        to.storage = source->storage, to.offset = offset;
        CS_TRY(cs_rank_copy(transport->rank, CS_LOG_COPY, "trainer", arrival->name, &to, &part));
        offset += cs_view_numel(&part);
    }
    return CS_OK;
}

/* ---- sparse patches ---- */

/* Of the load before this one. */
static const struct cs_checkpoint *checkpoint_before(const struct cs_transport *transport) {
    const struct cs_op *first = transport->session->config.scenario->ops;
    for (const struct cs_op *op = transport->op; op-- > first;)
        if (op->checkpoint) return cs_session_checkpoint(transport->session, op->checkpoint);
    return NULL;
}

/* What changed, NaN where nothing did; `n`: elements that did. Numbers without NaN stay: loaders refuse them. */
static enum cs_status patch_of(struct cs_transport *transport, const struct cs_arrival *arrival, unsigned char **bytes,
                               size_t *n) {
    const struct cs_checkpoint *before = checkpoint_before(transport),
                               *now = cs_session_checkpoint(transport->session, transport->op->checkpoint);
    const struct cs_checkpoint_entry *entry = arrival->entry,
                                     *old = before && entry ? cs_checkpoint_find(before, entry->name) : NULL;
    CS_REQUIRE(old && old->bytes == entry->bytes && cs_dtype_bits(entry->dtype) >= 8, CS_UNSUPPORTED,
               "%s: a patch needs the tensor of the checkpoint before, in the same form", arrival->name);
    struct cs_arena *arena = &transport->session->live;
    unsigned char *stale;
    uint64_t nan = 0;
    CS_TRY(cs_checkpoint_bytes(before, old, arena, &stale));
    CS_TRY(cs_checkpoint_bytes(now, entry, arena, bytes));
    if (cs_dtype_is_floating(entry->dtype)) CS_TRY(cs_dtype_encode(entry->dtype, NAN, &nan));
    size_t width = (size_t)cs_dtype_bits(entry->dtype) / 8;
    *n = 0;
    for (size_t i = 0; i < entry->bytes; i += width) {
        bool is_same = memcmp(*bytes + i, stale + i, width) == 0;
        *n += !is_same;
        if (is_same && cs_dtype_is_floating(entry->dtype)) memcpy(*bytes + i, &nan, width);
    }
    return CS_OK;
}

enum cs_status cs_transport_is_sent(struct cs_transport *transport, size_t arrival, bool *is_sent) {
    unsigned char *bytes;
    size_t n = 1;
    bool is_asked = transport->op->is_patch && !transport->op->has_only;
    if (is_asked) CS_TRY(patch_of(transport, &transport->arrivals->items[arrival], &bytes, &n));
    *is_sent = n > 0;
    return CS_OK;
}

static enum cs_status source_of_patch(struct cs_transport *transport, const struct cs_arrival *arrival,
                                      struct cs_view *source) {
    unsigned char *bytes;
    size_t n;
    const struct cs_checkpoint_entry *entry = arrival->entry;
    CS_TRY(patch_of(transport, arrival, &bytes, &n));
    CS_TRY(cs_view_make(source, NULL, entry->dtype, entry->ndim, entry->shape));
    return cs_allocate_kind(&transport->rank->allocator, CS_STORAGE_HOST, entry->bytes, NULL, bytes, entry->name,
                            &source->storage);
}

static enum cs_status source_of(struct cs_transport *transport, const struct cs_arrival *arrival,
                                struct cs_view *source) {
    if (arrival->n_parts) return merge(transport, arrival, source);
    CS_TRY(transport->op->is_patch ? source_of_patch(transport, arrival, source)
                                   : source_of_entry(transport, arrival->entry, source));
    return arrival->is_slice ? cs_view_select(source, 0, arrival->route->expert) : CS_OK;
}

/* ---- buckets ---- */

static bool has_bytes(const struct cs_arrival *arrival) { return arrival->entry || arrival->n_parts; }

/* Finds where the next bucket ends, and how large the largest of all is. */
static size_t end_of_bucket(const struct cs_transport *transport, size_t first, size_t *bytes) {
    const struct cs_op *op = transport->op;
    const struct cs_arrivals *arrivals = transport->arrivals;
    bool is_one_by_one = !op->bucket_bytes && !op->bucket_tensors;
    size_t end = first;
    for (*bytes = 0; end < arrivals->n; end++) {
        size_t size = entry_bytes(&arrivals->items[end]);
        bool is_full = (op->bucket_bytes && *bytes + size > op->bucket_bytes) ||
                       (op->bucket_tensors && end - first == (size_t)op->bucket_tensors) || is_one_by_one;
        if (end > first && is_full) break;
        *bytes += size;
    }
    return end;
}

static enum cs_status take_buffer(struct cs_transport *transport, size_t bytes) {
    struct cs_rank *rank = transport->rank;
    bool is_shared = transport->op->is_buffer_shared || cs_rank_has_defect(rank, CS_DEFECT_BUCKETS_SHARE_MEMORY);
    if (is_shared) {
        if (rank->transport) return CS_OK;
        for (size_t first = 0, size; first < transport->arrivals->n;) {
            first = end_of_bucket(transport, first, &size);
            if (size > bytes) bytes = size;
        }
    }
    struct cs_view layout, buffer;
    CS_TRY(cs_view_make(&layout, NULL, CS_U8, 1, (const int64_t[]){(int64_t)bytes}));
    CS_TRY(cs_rank_allocate(rank, &layout, "transport buffer", &buffer));
    rank->transport = buffer.storage;
    return CS_OK;
}

/* Trainer shards of the first dimension, the last one first: none depends on another. */
static enum cs_status pack(struct cs_transport *transport, const struct cs_arrival *arrival, struct cs_view *to,
                           const struct cs_view *source) {
    int64_t extent = source->ndim ? source->shape[0] : 1, pieces = transport->op->pieces;
    if (pieces > extent) pieces = extent;
    if (pieces <= 1) return cs_rank_copy(transport->rank, CS_LOG_COPY, "transport", arrival->name, to, source);
    for (int64_t p = pieces; p-- > 0;) {
        int64_t start = extent * p / pieces, length = extent * (p + 1) / pieces - start;
        struct cs_view shard = *source, place = *to;
        CS_TRY(cs_view_narrow(&shard, 0, start, length));
        CS_TRY(cs_view_narrow(&place, 0, start, length));
        CS_TRY(cs_rank_copy(transport->rank, CS_LOG_COPY, "transport", arrival->name, &place, &shard));
    }
    return CS_OK;
}

static enum cs_status fill_bucket(struct cs_transport *transport) {
    size_t position = 0;
    for (size_t i = transport->first; i < transport->end; i++) {
        const struct cs_arrival *arrival = &transport->arrivals->items[i];
        if (!has_bytes(arrival)) continue;
        struct cs_view source, *view = &transport->views[i];
        CS_TRY(source_of(transport, arrival, &source));
        CS_TRY(cs_view_make(view, transport->rank->transport, source.dtype, source.ndim, source.shape));
        view->offset = (int64_t)position * 8 / cs_dtype_bits(source.dtype);
        CS_TRY(pack(transport, arrival, view, &source));
        CS_TRY(cs_device_digest(transport->rank->device, view, &transport->digests[i]));
        position += entry_bytes(arrival);
    }
    return CS_OK;
}

enum cs_status cs_transport_next(struct cs_transport *transport) {
    size_t bytes;
    transport->first = transport->end;
    if (!transport->has_buckets) {
        transport->end = transport->arrivals->n;
        return CS_OK;
    }
    cs_load_probe(&transport->session->log, CS_LOAD_PROBE_bucket_received);
    transport->end = end_of_bucket(transport, transport->first, &bytes);
    CS_TRY(take_buffer(transport, bytes));
    return fill_bucket(transport);
}

enum cs_status cs_transport_source(struct cs_transport *transport, size_t arrival, struct cs_view *source) {
    if (transport->has_buckets) {
        *source = transport->views[arrival];
        return CS_OK;
    }
    CS_TRY(source_of(transport, &transport->arrivals->items[arrival], source));
    transport->rank->transport = source->storage;
    return CS_OK;
}

/* ---- what loaders did to the sender's memory ---- */

static enum cs_status note_changed(struct cs_session *session, const char *name) {
    struct cs_accounting *accounting = &session->accounting;
    for (size_t i = 0; i < accounting->n_changed; i++)
        if (cs_text_equal(accounting->changed[i], name)) return CS_OK; /* on another rank */
    const char **added = cs_arena_grow(&session->live, (void **)&accounting->changed, accounting->n_changed,
                                       &accounting->changed_capacity, sizeof *added);
    CS_REQUIRE(added, CS_NO_MEMORY, "out of memory for the names of changed tensors");
    *added = name;
    accounting->n_changed++;
    return CS_OK;
}

enum cs_status cs_transport_check(struct cs_transport *transport) {
    for (size_t i = transport->first; transport->has_buckets && i < transport->end; i++) {
        uint64_t digest;
        if (!has_bytes(&transport->arrivals->items[i])) continue;
        CS_TRY(cs_device_digest(transport->rank->device, &transport->views[i], &digest));
        if (digest != transport->digests[i])
            CS_TRY(note_changed(transport->session, transport->arrivals->items[i].name));
    }
    return CS_OK;
}
