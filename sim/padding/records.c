#include "sim/padding/padding.h"

static struct cs_padding_record *find_record(struct cs_padding *padding, const char *name) {
    for (size_t i = 0; i < padding->n_records; i++)
        if (cs_text_equal(padding->records[i].name, name)) return &padding->records[i];
    return NULL;
}

static struct cs_padding_record *add_record(struct cs_padding *padding, const char *name) {
    struct cs_padding_record *record = cs_arena_grow(padding->arena, (void **)&padding->records, padding->n_records,
                                                     &padding->capacity, sizeof *record);
    if (!record) return NULL;
    padding->n_records++;
    *record = (struct cs_padding_record){.name = name};
    return record;
}

static bool same_region(const struct cs_region *a, const struct cs_region *b) {
    if (a->offset != b->offset || a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d] || a->stride[d] != b->stride[d]) return false;
    return true;
}

static enum cs_status add_region(struct cs_padding *padding, struct cs_padding_record *record,
                                 const struct cs_region *region) {
    for (size_t i = 0; i < record->n_regions; i++)
        if (same_region(&record->regions[i], region)) return CS_OK; /* another expert's call said the same (R2.1) */
    struct cs_region *added =
        cs_arena_grow(padding->arena, (void **)&record->regions, record->n_regions, &record->capacity, sizeof *added);
    CS_REQUIRE(added, CS_NO_MEMORY, "out of memory while recording the padding of %s", record->name);
    *added = *region;
    record->n_regions++;
    return CS_OK;
}

static enum cs_status warn_once(const struct cs_padding_site *site) {
    bool is_silent = *site->has_warned || cs_defects_have(site->padding->defects, CS_DEFECT_WARNING_LOST);
    if (is_silent) return CS_OK;
    *site->has_warned = true;
    if (site->stats->warnings++) return CS_OK;
    site->stats->warning = cs_arena_format(
        site->padding->arena,
        "%s.%s is not registered on its module: its padding is not recorded and nothing will refill it; register "
        "the parameter before loading",
        site->module, site->name);
    CS_REQUIRE(site->stats->warning, CS_NO_MEMORY, "out of memory for a warning about %s.%s", site->module, site->name);
    return CS_OK;
}

enum cs_status cs_padding_mark(const struct cs_padding_site *site, const struct cs_region *region) {
    cs_defect_set defects = site->padding->defects;
    bool is_meta = cs_view_is_meta(&site->view);
    if (is_meta && !cs_defects_have(defects, CS_DEFECT_META_MARKED)) return CS_OK;
    if (!site->is_parameter && !cs_defects_have(defects, CS_DEFECT_PLAIN_MARKED)) return CS_OK;
    if (site->is_parameter && !site->is_registered) return warn_once(site);
    struct cs_padding_record *record = find_record(site->padding, site->name);
    if (!record) record = add_record(site->padding, site->name);
    CS_REQUIRE(record, CS_NO_MEMORY, "out of memory while recording the padding of %s.%s", site->module, site->name);
    if (record->is_stale || record->n_regions == 0) { /* R2.3: the first record after a fill starts over */
        record->is_stale = false;
        if (!cs_defects_have(defects, CS_DEFECT_RECORDS_KEPT)) record->n_regions = 0;
        record->layout = site->view;
        record->value = site->value;
    }
    return add_region(site->padding, record, region);
}

/* Drops what the finished load did not mark; what it did mark is stale from now on (R2.3). */
static void end_load(struct cs_padding *padding) {
    size_t kept = 0;
    bool keeps_all = cs_defects_have(padding->defects, CS_DEFECT_UNMARKED_KEPT);
    for (size_t i = 0; i < padding->n_records; i++) {
        if (padding->records[i].is_stale && !keeps_all) continue;
        padding->records[kept] = padding->records[i];
        padding->records[kept++].is_stale = true;
    }
    padding->n_records = kept;
}

void cs_padding_revive(struct cs_padding *padding) {
    for (size_t i = 0; i < padding->n_records; i++) padding->records[i].is_stale = false;
}

/* Whether the record still speaks of the parameter as it lies now. */
static bool is_fillable(const struct cs_padding *padding, const struct cs_padding_record *record,
                        const struct cs_view *view) {
    if (cs_view_same_layout(view, &record->layout)) return true;
    return cs_defects_have(padding->defects, CS_DEFECT_LAYOUT_UNCHECKED) && view->dtype == record->layout.dtype &&
           cs_view_span_bytes(view) >= cs_view_span_bytes(&record->layout);
}

/* What the latest load did not mark is not filled; nor does a mutant forget a region where it forgets nothing. */
static size_t n_regions_of(const struct cs_padding *padding, const struct cs_padding_record *record) {
    if (record->is_stale && !cs_defects_have(padding->defects, CS_DEFECT_UNMARKED_KEPT)) return 0;
    bool forgets = cs_defects_have(padding->defects, CS_DEFECT_FIRST_REGION_ONLY) && record->n_regions > 1;
    return forgets ? 1 : record->n_regions;
}

static enum cs_status collect(const struct cs_padding *padding, cs_padding_lookup *lookup, void *context,
                              struct cs_fill *fills, size_t *n_fills, struct cs_fill_stats *stats) {
    for (size_t i = 0; i < padding->n_records; i++) {
        const struct cs_padding_record *record = &padding->records[i];
        size_t n_regions = n_regions_of(padding, record);
        if (!n_regions) continue;
        struct cs_view view;
        if (!lookup(context, record->name, &view) || !is_fillable(padding, record, &view)) {
            stats->skipped++;
            continue;
        }
        uint64_t bits;
        CS_TRY(cs_dtype_encode(view.dtype, record->value, &bits));
        for (size_t r = 0; r < n_regions; r++) {
            fills[*n_fills] = (struct cs_fill){.view = cs_region_view(&record->regions[r], &view), .bits = bits};
            int64_t bytes = cs_view_numel(&fills[*n_fills].view) * cs_dtype_bits(view.dtype) / 8;
            stats->bytes += bytes;
            stats->regions++;
            (*n_fills)++;
        }
    }
    return CS_OK;
}

enum cs_status cs_padding_fill(struct cs_padding *padding, cs_padding_lookup *lookup, void *context,
                               const struct cs_device *device, struct cs_fill_stats *stats) {
    size_t most = 0;
    for (size_t i = 0; i < padding->n_records; i++) most += n_regions_of(padding, &padding->records[i]);
    if (!most) { /* nothing since the last fill; a load that marked nothing still drops older records */
        end_load(padding);
        return CS_OK;
    }
    struct cs_arena scratch = {0};
    struct cs_fill *fills = CS_NEW_ARRAY(&scratch, struct cs_fill, most);
    CS_REQUIRE(fills, CS_NO_MEMORY, "out of memory for a fill of %zu regions", most);
    size_t n_fills = 0;
    enum cs_status status = collect(padding, lookup, context, fills, &n_fills, stats);
    if (status == CS_OK && n_fills) {
        stats->calls++;
        status = cs_device_fill(device, fills, n_fills);
    }
    cs_arena_release(&scratch);
    if (status == CS_OK) end_load(padding);
    return status;
}
