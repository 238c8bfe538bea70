#include "sim/device/device.h"

#define REQUIRE_SLOT(device, slot)                                                                                     \
    CS_REQUIRE((device)->slot, CS_UNSUPPORTED, #slot ": not supported by %s", (device)->name)

/* ---- checks: what every device may rely on ---- */

static bool is_kind(const struct cs_view *view, enum cs_storage_kind kind) {
    return view->storage && view->storage->kind == kind;
}

static enum cs_status check_shapes(const char *operation, const struct cs_view *a, const struct cs_view *b) {
    char text_a[CS_VIEW_TEXT], text_b[CS_VIEW_TEXT];
    CS_REQUIRE(cs_view_same_shape(a, b), CS_BAD_SHAPE, "%s: %s of %s and %s of %s have different shapes", operation,
               cs_view_text(a, text_a), cs_view_label(a), cs_view_text(b, text_b), cs_view_label(b));
    return CS_OK;
}

/* Readable: memory, host bytes or numbers that can be computed. The refusal of META is torch's. */
static enum cs_status check_source(const char *operation, const struct cs_view *view) {
    CS_REQUIRE(!cs_view_is_meta(view), CS_REFUSED, "%s: cannot read %s: a meta tensor has no data", operation,
               cs_view_label(view));
    CS_TRY(cs_view_check(view));
    if (!is_kind(view, CS_STORAGE_SYNTHETIC)) return CS_OK;
    const struct cs_content *content = &view->storage->content;
    bool any_width = content->kind == CS_CONTENT_GARBAGE || content->kind == CS_CONTENT_ZERO;
    CS_REQUIRE(any_width || cs_dtype_bits(content->as) == cs_dtype_bits(view->dtype), CS_BAD_TYPE,
               "%s: %s holds %s numbers and cannot be read as %s", operation, cs_view_label(view),
               cs_dtype_name(content->as), cs_dtype_name(view->dtype));
    return CS_OK;
}

/* Writable, each element once: an expanded view names one element many times, and which write wins would be chance. */
static enum cs_status check_destination(const char *operation, const struct cs_view *view) {
    CS_TRY(cs_view_check(view));
    CS_REQUIRE(is_kind(view, CS_STORAGE_MEMORY), CS_INTERNAL, "%s: %s is read-only", operation, cs_view_label(view));
    for (int d = 0; d < view->ndim; d++)
        CS_REQUIRE(view->stride[d] != 0 || view->shape[d] <= 1, CS_UNSUPPORTED,
                   "%s: dimension %d of %s repeats one element and cannot be written", operation, d,
                   cs_view_label(view));
    return CS_OK;
}

static bool starts_on_byte(const struct cs_view *view) {
    return cs_dtype_bits(view->dtype) >= 8 || view->offset % 2 == 0;
}

static bool is_packed_memory(const struct cs_view *view) {
    return is_kind(view, CS_STORAGE_MEMORY) && cs_view_is_contiguous(view) && starts_on_byte(view);
}

/* ---- scratch: a packed copy of a view in the device's memory ---- */

struct scratch {
    struct cs_storage storage; /* data == NULL: not used */
    struct cs_view view;
};

static void scratch_release(const struct cs_device *device, struct scratch *scratch) {
    if (scratch->storage.data) device->release(device, scratch->storage.data, scratch->storage.bytes);
    scratch->storage.data = NULL;
}

static enum cs_status scratch_allocate(const struct cs_device *device, const struct cs_view *like,
                                       struct scratch *scratch) {
    *scratch = (struct scratch){.storage = {.kind = CS_STORAGE_MEMORY, .label = "scratch memory"}};
    CS_TRY(cs_view_make(&scratch->view, &scratch->storage, like->dtype, like->ndim, like->shape));
    scratch->storage.bytes = scratch->storage.block_bytes = cs_view_span_bytes(&scratch->view);
    REQUIRE_SLOT(device, allocate);
    return device->allocate(device, scratch->storage.bytes, &scratch->storage.data);
}

/* Same dtype on both sides. */
static enum cs_status copy_bits(const struct cs_device *device, const struct cs_view *destination,
                                const struct cs_view *source) {
    if (is_kind(source, CS_STORAGE_SYNTHETIC)) {
        REQUIRE_SLOT(device, generate);
        return device->generate(device, destination, source);
    }
    REQUIRE_SLOT(device, copy);
    return device->copy(device, destination, source);
}

static enum cs_status scratch_copy(const struct cs_device *device, const struct cs_view *source,
                                   struct scratch *scratch) {
    CS_TRY(scratch_allocate(device, source, scratch));
    enum cs_status status = copy_bits(device, &scratch->view, source);
    if (status != CS_OK) scratch_release(device, scratch);
    return status;
}

/* `readable` := the view itself, or for a SYNTHETIC one its numbers, computed into scratch memory. */
static enum cs_status materialise(const struct cs_device *device, const struct cs_view *view, struct scratch *scratch,
                                  struct cs_view *readable) {
    scratch->storage.data = NULL;
    *readable = *view;
    if (!is_kind(view, CS_STORAGE_SYNTHETIC) || cs_view_numel(view) == 0) return CS_OK;
    CS_TRY(scratch_copy(device, view, scratch));
    *readable = scratch->view;
    return CS_OK;
}

/* ---- operations ---- */

static enum cs_status convert(const struct cs_device *device, const struct cs_view *destination,
                              const struct cs_view *source) {
    struct scratch scratch;
    struct cs_view readable;
    REQUIRE_SLOT(device, convert);
    CS_TRY(materialise(device, source, &scratch, &readable));
    enum cs_status status = device->convert(device, destination, &readable);
    scratch_release(device, &scratch);
    return status;
}

enum cs_status cs_device_copy(const struct cs_device *device, const struct cs_view *destination,
                              const struct cs_view *source) {
    CS_TRY(check_shapes("copy", destination, source));
    if (cs_view_is_meta(destination)) return CS_OK;
    CS_TRY(check_destination("copy", destination));
    CS_TRY(check_source("copy", source));
    if (cs_view_numel(destination) == 0 || cs_view_same_place(destination, source)) return CS_OK;
    bool is_float4 = destination->dtype == CS_E2M1 || source->dtype == CS_E2M1;
    CS_REQUIRE(destination->dtype == source->dtype || !is_float4, CS_REFUSED,
               "copy: %s is %s and %s is %s: torch converts no float4", cs_view_label(source),
               cs_dtype_name(source->dtype), cs_view_label(destination), cs_dtype_name(destination->dtype));
    return destination->dtype == source->dtype ? copy_bits(device, destination, source)
                                               : convert(device, destination, source);
}

static bool is_written(const struct cs_view *view) { return !cs_view_is_meta(view) && cs_view_numel(view) > 0; }

enum cs_status cs_device_fill(const struct cs_device *device, const struct cs_fill *fills, size_t n) {
    REQUIRE_SLOT(device, fill);
    for (size_t i = 0; i < n; i++)
        if (!cs_view_is_meta(&fills[i].view)) CS_TRY(check_destination("fill", &fills[i].view));
    /* META and empty regions are rare: what lies between them goes out as one batch each. */
    for (size_t first = 0, end; first < n; first = end + 1) {
        for (end = first; end < n && is_written(&fills[end].view);) end++;
        if (end > first) CS_TRY(device->fill(device, fills + first, end - first));
    }
    return CS_OK;
}

/* The views hold exactly the matrices, as whole bytes; a u8 view may stand for pairs of 4-bit elements. */
static enum cs_status check_matrices(const struct cs_view *view, const struct cs_plan *plan, int64_t n_matrices,
                                     int64_t rows, int64_t columns) {
    char text[CS_VIEW_TEXT];
    int64_t have, want;
    bool fits = cs_multiply(n_matrices, rows, &want) && cs_multiply(want, columns, &want) &&
                cs_multiply(want, plan->bits, &want) &&
                cs_multiply(cs_view_numel(view), cs_dtype_bits(view->dtype), &have) && have == want;
    CS_REQUIRE(fits, CS_BAD_SHAPE,
               "relayout: %s of %s is not %" PRId64 " matrices %" PRId64 " x %" PRId64 " of %d bits",
               cs_view_text(view, text), cs_view_label(view), n_matrices, rows, columns, plan->bits);
    CS_REQUIRE(cs_view_is_contiguous(view) && starts_on_byte(view), CS_BAD_SHAPE,
               "relayout: %s of %s is not contiguous", cs_view_text(view, text), cs_view_label(view));
    return CS_OK;
}

static bool overlap(const struct cs_view *a, const struct cs_view *b) {
    size_t start_a = cs_view_byte_offset(a), start_b = cs_view_byte_offset(b);
    return a->storage == b->storage && start_a < start_b + cs_view_span_bytes(b) &&
           start_b < start_a + cs_view_span_bytes(a);
}

enum cs_status cs_device_relayout(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                                  const struct cs_view *destination, const struct cs_view *source) {
    REQUIRE_SLOT(device, relayout);
    if (cs_view_is_meta(destination)) return CS_OK;
    CS_TRY(check_destination("relayout", destination));
    CS_TRY(check_source("relayout", source));
    CS_TRY(check_matrices(destination, plan, n_matrices, plan->rows, plan->columns));
    CS_TRY(check_matrices(source, plan, n_matrices, plan->source_rows, plan->source_columns));
    CS_REQUIRE(!overlap(destination, source), CS_INTERNAL, "relayout: %s cannot be read and written at once",
               cs_view_label(source));
    if (cs_view_numel(destination) == 0) return CS_OK;
    struct scratch scratch;
    struct cs_view readable;
    CS_TRY(materialise(device, source, &scratch, &readable));
    enum cs_status status = device->relayout(device, plan, n_matrices, destination, &readable);
    scratch_release(device, &scratch);
    return status;
}

static enum cs_status compare(const struct cs_device *device, const struct cs_view *a, const struct cs_view *b,
                              struct cs_difference *difference) {
    struct scratch scratch;
    struct cs_view readable;
    CS_TRY(materialise(device, b, &scratch, &readable));
    enum cs_status status = device->compare(device, a, &readable, difference);
    scratch_release(device, &scratch);
    return status;
}

enum cs_status cs_device_compare(const struct cs_device *device, const struct cs_view *a, const struct cs_view *b,
                                 struct cs_difference *difference) {
    REQUIRE_SLOT(device, compare);
    CS_TRY(check_shapes("compare", a, b));
    CS_TRY(check_source("compare", a));
    CS_TRY(check_source("compare", b));
    CS_REQUIRE(cs_dtype_bits(a->dtype) == cs_dtype_bits(b->dtype), CS_BAD_TYPE,
               "compare: %s of %s and %s of %s differ in width", cs_dtype_name(a->dtype), cs_view_label(a),
               cs_dtype_name(b->dtype), cs_view_label(b));
    *difference = (struct cs_difference){.first = -1};
    if (cs_view_numel(a) == 0) return CS_OK;
    struct scratch scratch;
    struct cs_view readable;
    CS_TRY(materialise(device, a, &scratch, &readable));
    enum cs_status status = compare(device, &readable, b, difference);
    scratch_release(device, &scratch);
    return status;
}

enum cs_status cs_device_digest(const struct cs_device *device, const struct cs_view *view, uint64_t *digest) {
    struct scratch scratch;
    struct cs_view readable;
    REQUIRE_SLOT(device, digest);
    CS_TRY(check_source("digest", view));
    CS_TRY(materialise(device, view, &scratch, &readable));
    enum cs_status status = device->digest(device, &readable, digest);
    scratch_release(device, &scratch);
    return status;
}

/* Up to CS_DIGESTS views; those that are no memory are read one by one. */
static enum cs_status digest_batch(const struct cs_device *device, const struct cs_view *const *views, size_t n,
                                   uint64_t *digests) {
    const struct cs_view *batch[CS_DIGESTS];
    size_t index[CS_DIGESTS], n_batch = 0;
    uint64_t found[CS_DIGESTS];
    for (size_t i = 0; i < n; i++) {
        bool is_memory = device->digest_all && views[i]->storage->kind == CS_STORAGE_MEMORY;
        if (!is_memory) {
            CS_TRY(cs_device_digest(device, views[i], &digests[i]));
            continue;
        }
        CS_TRY(check_source("digest", views[i]));
        index[n_batch] = i;
        batch[n_batch++] = views[i];
    }
    if (n_batch > 0) CS_TRY(device->digest_all(device, batch, n_batch, found));
    for (size_t i = 0; i < n_batch; i++) digests[index[i]] = found[i];
    return CS_OK;
}

enum cs_status cs_device_digests(const struct cs_device *device, const struct cs_view *const *views, size_t n,
                                 uint64_t *digests) {
    for (size_t i = 0; i < n; i += CS_DIGESTS)
        CS_TRY(digest_batch(device, views + i, n - i < CS_DIGESTS ? n - i : CS_DIGESTS, digests + i));
    return CS_OK;
}

/* ---- host memory ---- */

static void *first_byte(const struct cs_view *view) {
    return (unsigned char *)view->storage->data + cs_view_byte_offset(view);
}

/* A packed view of the same shape and dtype, over `bytes` bytes at `host`. */
static enum cs_status host_view(const char *operation, const struct cs_view *like, const void *host, size_t bytes,
                                struct cs_storage *storage, struct cs_view *view) {
    char text[CS_VIEW_TEXT];
    *storage = (struct cs_storage){.kind = CS_STORAGE_HOST, .bytes = bytes, .label = "host memory"};
    storage->data = (void *)(uintptr_t)host; /* a HOST storage is never written */
    CS_TRY(cs_view_make(view, storage, like->dtype, like->ndim, like->shape));
    CS_REQUIRE(bytes == cs_view_span_bytes(view), CS_BAD_SHAPE, "%s: %s of %s takes %zu bytes, not %zu", operation,
               cs_view_text(view, text), cs_view_label(like), cs_view_span_bytes(view), bytes);
    return CS_OK;
}

static enum cs_status download(const struct cs_device *device, const struct cs_view *view, void *host, size_t bytes) {
    REQUIRE_SLOT(device, download);
    CS_TRY(device->download(device, host, first_byte(view), bytes));
    /* Half of the last byte may belong to another view. */
    if (cs_dtype_bits(view->dtype) == 4 && cs_view_numel(view) % 2) ((unsigned char *)host)[bytes - 1] &= 0x0F;
    return CS_OK;
}

enum cs_status cs_device_read(const struct cs_device *device, const struct cs_view *view, void *host, size_t bytes) {
    struct cs_storage storage;
    struct cs_view packed;
    struct scratch scratch;
    CS_TRY(check_source("read", view));
    CS_TRY(host_view("read", view, host, bytes, &storage, &packed));
    if (bytes == 0) return CS_OK;
    if (is_packed_memory(view)) return download(device, view, host, bytes);
    CS_TRY(scratch_copy(device, view, &scratch));
    enum cs_status status = download(device, &scratch.view, host, bytes);
    scratch_release(device, &scratch);
    return status;
}

enum cs_status cs_device_write(const struct cs_device *device, const struct cs_view *view, const void *host,
                               size_t bytes) {
    struct cs_storage storage;
    struct cs_view packed;
    CS_TRY(host_view("write", view, host, bytes, &storage, &packed));
    if (cs_view_is_meta(view)) return CS_OK;
    CS_TRY(check_destination("write", view));
    if (bytes == 0) return CS_OK;
    bool whole_bytes = cs_dtype_bits(view->dtype) >= 8 || cs_view_numel(view) % 2 == 0;
    if (!is_packed_memory(view) || !whole_bytes) return copy_bits(device, view, &packed);
    REQUIRE_SLOT(device, upload);
    return device->upload(device, first_byte(view), host, bytes);
}

/* ---- memory for an allocator; its context is the device ---- */

static enum cs_status memory_allocate(void *context, size_t bytes, void **data) {
    const struct cs_device *device = context;
    REQUIRE_SLOT(device, allocate);
    return device->allocate(device, bytes, data);
}

static void memory_release(void *context, void *data, size_t bytes) {
    const struct cs_device *device = context;
    device->release(device, data, bytes);
}

static enum cs_status memory_write(void *context, struct cs_storage *storage, const struct cs_content *content) {
    const struct cs_device *device = context;
    struct cs_storage synthetic = {.kind = CS_STORAGE_SYNTHETIC, .bytes = storage->bytes, .content = *content};
    struct cs_view destination, source;
    size_t bits = (size_t)cs_dtype_bits(content->as);
    size_t n = bits < 8 ? storage->bytes * (8 / bits) : storage->bytes / (bits / 8);
    CS_REQUIRE(storage->bytes <= INT64_MAX / 8 && (bits < 8 || n * (bits / 8) == storage->bytes), CS_INTERNAL,
               "%zu bytes of %s are no whole number of %s elements", storage->bytes,
               storage->label ? storage->label : "a storage", cs_dtype_name(content->as));
    int64_t shape = (int64_t)n;
    CS_TRY(cs_view_make(&destination, storage, content->as, 1, &shape));
    CS_TRY(cs_view_make(&source, &synthetic, content->as, 1, &shape));
    return cs_device_copy(device, &destination, &source);
}

struct cs_memory cs_device_memory(const struct cs_device *device) {
    return (struct cs_memory){(void *)(uintptr_t)device, memory_allocate, memory_release, memory_write};
}
