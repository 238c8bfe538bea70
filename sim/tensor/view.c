#include "sim/tensor/tensor.h"

#include <assert.h>
#include <stdio.h>

/* ---- sizes ---- */

enum cs_status cs_view_make(struct cs_view *view, struct cs_storage *storage, enum cs_dtype dtype, int ndim,
                            const int64_t *shape) {
    CS_REQUIRE(ndim >= 0 && ndim <= CS_NDIM, CS_BAD_SHAPE, "%d dimensions: at most %d are supported", ndim, CS_NDIM);
    struct cs_view made = {.storage = storage, .dtype = dtype, .ndim = ndim};
    int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        CS_REQUIRE(shape[d] >= 0, CS_BAD_SHAPE, "extent %" PRId64 " of dimension %d is negative", shape[d], d);
        made.shape[d] = shape[d];
        made.stride[d] = stride;
        CS_REQUIRE(cs_multiply(stride, shape[d] ? shape[d] : 1, &stride), CS_BAD_SHAPE,
                   "more than 2^63-1 elements: dimension %d has %" PRId64, d, shape[d]);
    }
    *view = made;
    return CS_OK;
}

int64_t cs_view_numel(const struct cs_view *view) {
    int64_t n = 1;
    for (int d = 0; d < view->ndim; d++)
        if (view->shape[d] == 0) return 0;
    for (int d = 0; d < view->ndim; d++) {
        bool fits = cs_multiply(n, view->shape[d], &n);
        assert(fits);
        (void)fits;
    }
    return n;
}

/* Position, from the first element, of the last one; false when no int64_t can hold it. */
static bool last_element(const struct cs_view *view, int64_t *last) {
    int64_t sum = 0;
    for (int d = 0; d < view->ndim; d++) {
        int64_t reach;
        if (!cs_multiply(view->shape[d] - 1, view->stride[d], &reach)) return false;
        if (__builtin_add_overflow(sum, reach, &sum)) return false;
    }
    *last = sum;
    return true;
}

/* Bit positions of elements exceed 64 bits, byte positions hardly ever do: those saturate. */
static size_t bytes_of_elements(int64_t n, int bits, bool round_up) {
    size_t whole = (size_t)n / 8, rest = (size_t)n % 8, bytes;
    if (__builtin_mul_overflow(whole, (size_t)bits, &bytes)) return SIZE_MAX;
    size_t rest_bytes = (rest * (size_t)bits + (round_up ? 7 : 0)) / 8;
    return __builtin_add_overflow(bytes, rest_bytes, &bytes) ? SIZE_MAX : bytes;
}

size_t cs_view_byte_offset(const struct cs_view *view) {
    return bytes_of_elements(view->offset, cs_dtype_bits(view->dtype), false);
}

size_t cs_view_span_bytes(const struct cs_view *view) {
    int64_t last;
    if (cs_view_numel(view) == 0) return 0;
    if (!last_element(view, &last) || last == INT64_MAX) return SIZE_MAX;
    return bytes_of_elements(last + 1, cs_dtype_bits(view->dtype), true);
}

static bool is_well_formed(const struct cs_view *view) {
    int64_t n = 1;
    if (view->ndim < 0 || view->ndim > CS_NDIM) return false;
    for (int d = 0; d < view->ndim; d++)
        if (!cs_multiply(n, view->shape[d] ? view->shape[d] : 1, &n)) return false;
    return true;
}

bool cs_view_is_meta(const struct cs_view *view) { return view->storage && view->storage->kind == CS_STORAGE_META; }

const char *cs_view_label(const struct cs_view *view) {
    return view->storage && view->storage->label ? view->storage->label : "a tensor";
}

enum cs_status cs_view_check(const struct cs_view *view) {
    char text[CS_VIEW_TEXT];
    CS_REQUIRE(is_well_formed(view), CS_BAD_SHAPE,
               "a view of %d dimensions is malformed: negative or too large extents", view->ndim);
    CS_REQUIRE(view->storage, CS_INTERNAL, "%s has no storage", cs_view_text(view, text));
    const char *label = view->storage->label ? view->storage->label : "a storage";
    int64_t last;
    bool fits = view->offset >= 0;
    for (int d = 0; d < view->ndim; d++) fits = fits && view->stride[d] >= 0;
    CS_REQUIRE(fits, CS_BAD_INDEX, "%s of %s has a negative offset or stride", cs_view_text(view, text), label);
    if (cs_view_numel(view) == 0) return CS_OK;
    fits = last_element(view, &last) && !__builtin_add_overflow(last, view->offset, &last) && last < INT64_MAX &&
           bytes_of_elements(last + 1, cs_dtype_bits(view->dtype), true) <= view->storage->bytes;
    CS_REQUIRE(fits, CS_BAD_INDEX, "%s at element %" PRId64 " reaches beyond %s, which has %zu bytes",
               cs_view_text(view, text), view->offset, label, view->storage->bytes);
    return CS_OK;
}

/* ---- comparing ---- */

bool cs_view_is_contiguous(const struct cs_view *view) {
    int64_t stride = 1;
    if (cs_view_numel(view) == 0) return true;
    for (int d = view->ndim - 1; d >= 0; d--) {
        if (view->shape[d] == 1) continue; /* never stepped over */
        if (view->stride[d] != stride) return false;
        stride *= view->shape[d];
    }
    return true;
}

bool cs_view_same_shape(const struct cs_view *a, const struct cs_view *b) {
    if (a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

bool cs_view_same_layout(const struct cs_view *a, const struct cs_view *b) {
    if (a->dtype != b->dtype || !cs_view_same_shape(a, b)) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->stride[d] != b->stride[d]) return false;
    return true;
}

/* Of equal dtypes, the element offset is the byte offset, and tells the nibbles of a byte apart as well. */
bool cs_view_same_place(const struct cs_view *a, const struct cs_view *b) {
    return a->storage == b->storage && a->offset == b->offset && cs_view_same_layout(a, b);
}

/* ---- changing ---- */

static bool moves_offset(const struct cs_view *view, int dim, int64_t steps, int64_t *offset) {
    int64_t distance;
    return !__builtin_mul_overflow(steps, view->stride[dim], &distance) &&
           !__builtin_add_overflow(view->offset, distance, offset);
}

enum cs_status cs_view_narrow(struct cs_view *view, int dim, int64_t start, int64_t length) {
    CS_REQUIRE(dim >= 0 && dim < view->ndim, CS_BAD_INDEX, "narrow: dimension %d of %d", dim, view->ndim);
    int64_t extent = view->shape[dim];
    CS_REQUIRE(start >= 0 && length >= 0 && start <= extent && length <= extent - start, CS_BAD_INDEX,
               "narrow: start %" PRId64 " + length %" PRId64 " exceeds extent %" PRId64 " of dimension %d", start,
               length, extent, dim);
    CS_REQUIRE(moves_offset(view, dim, start, &view->offset), CS_BAD_INDEX,
               "narrow: start %" PRId64 " times stride %" PRId64 " is too far", start, view->stride[dim]);
    view->shape[dim] = length;
    return CS_OK;
}

enum cs_status cs_view_select(struct cs_view *view, int dim, int64_t index) {
    CS_REQUIRE(dim >= 0 && dim < view->ndim, CS_BAD_INDEX, "select: dimension %d of %d", dim, view->ndim);
    CS_REQUIRE(index >= 0 && index < view->shape[dim], CS_BAD_INDEX,
               "select: index %" PRId64 " of dimension %d, which has %" PRId64, index, dim, view->shape[dim]);
    CS_REQUIRE(moves_offset(view, dim, index, &view->offset), CS_BAD_INDEX,
               "select: index %" PRId64 " times stride %" PRId64 " is too far", index, view->stride[dim]);
    view->ndim--;
    for (int d = dim; d < view->ndim; d++) {
        view->shape[d] = view->shape[d + 1];
        view->stride[d] = view->stride[d + 1];
    }
    view->shape[view->ndim] = view->stride[view->ndim] = 0;
    return CS_OK;
}

/* Fills in the extent that is -1. torch refuses it when the others are empty: any extent would do. */
static enum cs_status infer_extent(int ndim, int64_t *shape, int64_t numel) {
    int unknown = -1;
    int64_t product = 1;
    for (int d = 0; d < ndim; d++) {
        CS_REQUIRE(shape[d] != -1 || unknown < 0, CS_BAD_SHAPE, "reshape: only one extent may be -1");
        if (shape[d] == -1)
            unknown = d;
        else
            CS_REQUIRE(cs_multiply(product, shape[d], &product), CS_BAD_SHAPE,
                       "reshape: extent %" PRId64 " of dimension %d", shape[d], d);
    }
    if (unknown < 0) return CS_OK;
    CS_REQUIRE(product > 0 && numel % product == 0, CS_BAD_SHAPE,
               "reshape: %" PRId64 " elements do not divide by %" PRId64, numel, product);
    shape[unknown] = numel / product;
    return CS_OK;
}

enum cs_status cs_view_reshape(struct cs_view *view, int ndim, const int64_t *shape) {
    char text[CS_VIEW_TEXT];
    struct cs_view reshaped;
    int64_t wanted[CS_NDIM] = {0};
    CS_REQUIRE(ndim >= 0 && ndim <= CS_NDIM, CS_BAD_SHAPE, "reshape: %d dimensions: at most %d are supported", ndim,
               CS_NDIM);
    CS_REQUIRE(cs_view_is_contiguous(view), CS_BAD_SHAPE, "reshape: %s is not contiguous", cs_view_text(view, text));
    for (int d = 0; d < ndim; d++) wanted[d] = shape[d];
    CS_TRY(infer_extent(ndim, wanted, cs_view_numel(view)));
    CS_TRY(cs_view_make(&reshaped, view->storage, view->dtype, ndim, wanted));
    CS_REQUIRE(cs_view_numel(&reshaped) == cs_view_numel(view), CS_BAD_SHAPE,
               "reshape: %s does not have %" PRId64 " elements", cs_view_text(view, text), cs_view_numel(&reshaped));
    reshaped.offset = view->offset;
    *view = reshaped;
    return CS_OK;
}

enum cs_status cs_view_as(struct cs_view *view, enum cs_dtype dtype) {
    CS_REQUIRE(cs_dtype_bits(view->dtype) == cs_dtype_bits(dtype), CS_BAD_TYPE,
               "view: %s has %d bits, %s has %d: only dtypes of the same width", cs_dtype_name(view->dtype),
               cs_dtype_bits(view->dtype), cs_dtype_name(dtype), cs_dtype_bits(dtype));
    view->dtype = dtype;
    return CS_OK;
}

/* ---- elements ---- */

void cs_view_unravel(const struct cs_view *view, int64_t index, int64_t *coordinates) {
    assert(index >= 0);
    for (int d = view->ndim - 1; d >= 0; d--) {
        coordinates[d] = index % view->shape[d];
        index /= view->shape[d];
    }
    assert(index == 0);
}

int64_t cs_view_element(const struct cs_view *view, int64_t index) {
    int64_t coordinates[CS_NDIM], position = view->offset;
    cs_view_unravel(view, index, coordinates);
    for (int d = 0; d < view->ndim; d++) position += coordinates[d] * view->stride[d];
    return position;
}

struct search {
    const struct cs_view *view;
    int order[CS_NDIM];                       /* dimensions, longest stride first */
    int64_t reach[CS_NDIM + 1], row[CS_NDIM]; /* farthest that dimensions from j on can go; row-major weight */
};

static void search_begin(struct search *search, const struct cs_view *view) {
    search->view = view;
    for (int d = 0; d < view->ndim; d++) {
        int j = d;
        for (; j > 0 && view->stride[search->order[j - 1]] < view->stride[d]; j--)
            search->order[j] = search->order[j - 1];
        search->order[j] = d;
    }
    search->reach[view->ndim] = 0;
    for (int j = view->ndim - 1; j >= 0; j--) {
        int d = search->order[j];
        search->reach[j] = search->reach[j + 1] + (view->shape[d] - 1) * view->stride[d];
    }
    int64_t weight = 1;
    for (int d = view->ndim - 1; d >= 0; d--) {
        search->row[d] = weight;
        weight *= view->shape[d];
    }
}

/* Row-major index of what lies `distance` away in dimensions order[j …], or -1. Ordinary views leave one candidate in
 * each dimension; only interleaved strides, such as {3, 2}, make it try more. */
static int64_t search_from(const struct search *search, int j, int64_t distance) {
    const struct cs_view *view = search->view;
    if (distance < 0 || distance > search->reach[j]) return -1;
    if (j == view->ndim) return 0;
    int d = search->order[j];
    int64_t stride = view->stride[d];
    if (stride == 0) return search_from(search, j + 1, distance);
    int64_t high = distance / stride;
    if (high >= view->shape[d]) high = view->shape[d] - 1;
    for (int64_t c = high; c >= 0 && distance - c * stride <= search->reach[j + 1]; c--) {
        int64_t rest = search_from(search, j + 1, distance - c * stride);
        if (rest >= 0) return rest + c * search->row[d];
    }
    return -1;
}

int64_t cs_view_find(const struct cs_view *view, int64_t position) {
    struct search search = {0};
    if (position < view->offset || cs_view_numel(view) == 0) return -1;
    search_begin(&search, view);
    return search_from(&search, 0, position - view->offset);
}

char *cs_view_text(const struct cs_view *view, char *buffer) {
    size_t used = (size_t)snprintf(buffer, CS_VIEW_TEXT, "%s[", cs_dtype_name(view->dtype));
    for (int d = 0; d < view->ndim && d < CS_NDIM; d++)
        used += (size_t)snprintf(buffer + used, CS_VIEW_TEXT - used, "%s%" PRId64, d ? ", " : "", view->shape[d]);
    snprintf(buffer + used, CS_VIEW_TEXT - used, "]");
    return buffer;
}
