/* Where every element of every parameter came from, read back from bytes.
 *
 * The checkpoint's elements are numbered through; a checkpoint that holds digit d of each number is loaded for every d.
 * The first digit is loaded twice: over memory of 0xAA, and raised by one over memory of 0x55. An element that holds
 * the poison both times was not written; one that holds the same twice was written by the loader itself; any other one
 * rose by one, and came from the checkpoint. No value that a digit can have is mistaken for anything else. */
#include "sim/conform/internal.h"

#include <string.h>

enum { POISON = 0xAA, OTHER_POISON = 0x55, MOST_DIGITS = 4, PARALLEL = 1 << 18 };

/* Loads one digit over one poison; the bytes of all parameters end up in `bytes`. */
static enum cs_status pass(struct cs_arena *arena, struct cs_layer *layer, const struct cs_golden_checkpoint *golden,
                           uint8_t poison, unsigned digit, unsigned raise, struct cs_bytes *bytes) {
    CS_TRY(cs_layer_poison(layer, poison, false));
    struct cs_checkpoint checkpoint;
    enum cs_status status = cs_golden_checkpoint_make(golden, digit, raise, &checkpoint);
    if (status == CS_OK) status = cs_layer_send(layer, &checkpoint, "");
    cs_checkpoint_close(&checkpoint);
    CS_TRY(status);
    for (size_t i = 0; i < layer->module.n_slots; i++)
        CS_TRY(cs_bytes_of_view(arena, layer->rank.device, &layer->module.slots[i].param->view, &bytes[i]));
    return CS_OK;
}

/* ---- elements ---- */

static uint64_t element_bits(const struct cs_bytes *bytes, size_t width, int64_t i) {
    uint64_t bits = 0;
    memcpy(&bits, bytes->data + (size_t)i * width, width); /* little-endian, as the file formats */
    return bits;
}

/* -1: the bits are no digit. */
static int digit_of(enum cs_dtype dtype, uint64_t bits) {
    if (cs_dtype_bits(dtype) == 8) return (int)bits;
    double number = cs_dtype_decode(dtype, bits);
    return number >= 0 && number <= 255 && number == (double)(int)number ? (int)number : -1;
}

/* What two passes of the first digit left: the digit, or one of CS_FROM_*. */
static uint32_t classify_element(enum cs_dtype dtype, size_t width, uint64_t first, uint64_t raised) {
    const uint64_t mask = width < 8 ? (UINT64_C(1) << (8 * width)) - 1 : UINT64_MAX,
                   ones = UINT64_C(0x0101010101010101);
    if (first == (ones * POISON & mask) && raised == (ones * OTHER_POISON & mask)) return CS_FROM_NOTHING;
    if (first == raised) return CS_FROM_LOADER;
    int digit = digit_of(dtype, first);
    bool is_raised = digit >= 0 && digit_of(dtype, raised) == ((digit + 1) & 0xFF);
    return is_raised ? (uint32_t)digit : CS_FROM_UNKNOWN;
}

/* The same for all elements of one byte, where large cases spend their time. */
static void classify_bytes(uint32_t *from, const unsigned char *first, const unsigned char *raised, int64_t n) {
#pragma omp parallel for schedule(static) if (n > PARALLEL)
    for (int64_t i = 0; i < n; i++) {
        uint32_t seen = (unsigned char)(first[i] + 1) == raised[i] ? first[i] : CS_FROM_UNKNOWN;
        seen = first[i] == raised[i] ? CS_FROM_LOADER : seen;
        from[i] = first[i] == POISON && raised[i] == OTHER_POISON ? CS_FROM_NOTHING : seen;
    }
}

static enum cs_status classify(struct cs_arena *arena, struct cs_source_set *set, const struct cs_bytes *first,
                               const struct cs_bytes *raised) {
    size_t width = (size_t)cs_dtype_bits(set->dtype) / 8;
    int64_t n = set->experts * set->rows * set->columns, n_filled = 0;
    if (width == 1) classify_bytes(set->from, first->data, raised->data, n);
    for (int64_t i = 0; i < n && width > 1; i++)
        set->from[i] =
            classify_element(set->dtype, width, element_bits(first, width, i), element_bits(raised, width, i));
    for (int64_t i = 0; i < n; i++) {
        set->n_nothing += set->from[i] == CS_FROM_NOTHING;
        n_filled += set->from[i] == CS_FROM_LOADER;
    }
    set->n_written = n - set->n_nothing;
    if (n_filled == 0) return CS_OK;
    set->value = CS_NEW_ARRAY(arena, uint64_t, (size_t)n);
    CS_REQUIRE(set->value, CS_NO_MEMORY, "no memory for the values of %s", set->name);
    for (int64_t i = 0; i < n; i++)
        if (set->from[i] == CS_FROM_LOADER) set->value[i] = element_bits(first, width, i);
    return CS_OK;
}

static void add_digit_bytes(uint32_t *from, const unsigned char *bytes, int64_t n, unsigned digit) {
#pragma omp parallel for schedule(static) if (n > PARALLEL)
    for (int64_t i = 0; i < n; i++)
        from[i] = from[i] >= CS_FROM_UNKNOWN ? from[i] : from[i] | (uint32_t)bytes[i] << (8 * digit);
}

static void add_digit(struct cs_source_set *set, const struct cs_bytes *bytes, unsigned digit) {
    size_t width = (size_t)cs_dtype_bits(set->dtype) / 8;
    int64_t n = set->experts * set->rows * set->columns;
    uint32_t *from = set->from;
    if (width == 1) add_digit_bytes(from, bytes->data, n, digit);
    for (int64_t i = 0; i < n && width > 1; i++) {
        int value = digit_of(set->dtype, element_bits(bytes, width, i));
        if (from[i] >= CS_FROM_UNKNOWN) continue;
        from[i] = value < 0 ? CS_FROM_UNKNOWN : from[i] | (uint32_t)value << (8 * digit);
    }
}

/* ---- all parameters ---- */

/* A parameter is [experts, rows, columns]: trailing dimensions flattened, missing ones 1. */
static enum cs_status make_set(struct cs_arena *arena, const struct cs_slot *slot, struct cs_source_set *set) {
    const struct cs_view *view = &slot->param->view;
    *set = (struct cs_source_set){.name = slot->name, .dtype = view->dtype, .columns = 1};
    set->experts = view->ndim > 0 ? view->shape[0] : 1;
    set->rows = view->ndim > 1 ? view->shape[1] : 1;
    for (int d = 2; d < view->ndim; d++) set->columns *= view->shape[d];
    set->from = CS_NEW_ARRAY(arena, uint32_t, (size_t)cs_view_numel(view) + 1);
    CS_REQUIRE(set->from, CS_NO_MEMORY, "no memory for the sources of %s", slot->name);
    return CS_OK;
}

static enum cs_status first_digit(struct cs_arena *arena, struct cs_layer *layer,
                                  const struct cs_golden_checkpoint *golden, struct cs_source_set *sets,
                                  struct cs_arena *scratch) {
    size_t n = layer->module.n_slots;
    struct cs_bytes *first = CS_NEW_ARRAY(scratch, struct cs_bytes, n),
                    *raised = CS_NEW_ARRAY(scratch, struct cs_bytes, n);
    CS_REQUIRE(first && raised, CS_NO_MEMORY, "no memory for %zu parameters", n);
    CS_TRY(pass(scratch, layer, golden, POISON, 0, 0, first));
    CS_TRY(pass(scratch, layer, golden, OTHER_POISON, 0, 1, raised));
    for (size_t i = 0; i < n; i++) CS_TRY(classify(arena, &sets[i], &first[i], &raised[i]));
    return CS_OK;
}

static enum cs_status next_digit(struct cs_layer *layer, const struct cs_golden_checkpoint *golden, unsigned digit,
                                 struct cs_source_set *sets, struct cs_arena *scratch) {
    size_t n = layer->module.n_slots;
    struct cs_bytes *bytes = CS_NEW_ARRAY(scratch, struct cs_bytes, n);
    CS_REQUIRE(bytes, CS_NO_MEMORY, "no memory for %zu parameters", n);
    CS_TRY(pass(scratch, layer, golden, POISON, digit, 0, bytes));
    for (size_t i = 0; i < n; i++) add_digit(&sets[i], &bytes[i], digit);
    return CS_OK;
}

enum cs_status cs_digits_derive(struct cs_arena *arena, struct cs_layer *layer,
                                const struct cs_golden_checkpoint *checkpoint, struct cs_source_set **sets) {
    size_t n = layer->module.n_slots;
    *sets = CS_NEW_ARRAY(arena, struct cs_source_set, n);
    CS_REQUIRE(*sets, CS_NO_MEMORY, "no memory for %zu parameters", n);
    for (size_t i = 0; i < n; i++) CS_TRY(make_set(arena, &layer->module.slots[i], &(*sets)[i]));

    struct cs_arena scratch = {0};
    enum cs_status status = first_digit(arena, layer, checkpoint, *sets, &scratch);
    cs_arena_release(&scratch);
    for (unsigned digit = 1; digit < MOST_DIGITS && status == CS_OK && checkpoint->n_elements >> (8 * digit); digit++) {
        status = next_digit(layer, checkpoint, digit, *sets, &scratch);
        cs_arena_release(&scratch);
    }
    return status;
}
