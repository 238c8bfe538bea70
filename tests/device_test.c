#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim/device/device.h"

static const struct cs_device *ref(void) { return cs_device_by_name("ref"); }

/* A small tensor in memory of the test: every device here is `ref`, whose memory is the host's. */
struct tensor {
    struct cs_storage storage;
    struct cs_view view;
    unsigned char bytes[64];
};

#define TENSOR(kind, dtype, ...)                                                                                       \
    tensor_of(&(struct tensor){0}, kind, dtype, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                    \
              (const int64_t[]){__VA_ARGS__})
#define MEMORY(dtype, ...) TENSOR(CS_STORAGE_MEMORY, dtype, __VA_ARGS__)

static struct tensor *tensor_of(struct tensor *t, enum cs_storage_kind kind, enum cs_dtype dtype, size_t ndim,
                                const int64_t *shape) {
    assert_int_equal(cs_view_make(&t->view, &t->storage, dtype, (int)ndim, shape), CS_OK);
    size_t bytes = cs_view_span_bytes(&t->view);
    bool has_bytes = kind == CS_STORAGE_MEMORY || kind == CS_STORAGE_HOST;
    assert_true(!has_bytes || bytes <= sizeof t->bytes);
    t->storage = (struct cs_storage){.kind = kind, .bytes = bytes, .data = has_bytes ? t->bytes : NULL, .label = "w"};
    return t;
}

static struct tensor *numbered(struct tensor *t) {
    for (size_t i = 0; i < sizeof t->bytes; i++) t->bytes[i] = (unsigned char)(i + 1);
    return t;
}

static void ref_is_always_there(void **state) {
    (void)state;
    assert_true(cs_n_devices >= 1);
    assert_ptr_equal(cs_device_by_name("ref"), cs_devices[0]);
    assert_string_equal(ref()->unavailable(), "");
    assert_null(cs_device_by_name("abacus"));
}

static void copying_moves_strided_elements(void **state) {
    (void)state;
    struct tensor *source = numbered(MEMORY(CS_U8, 3, 4)), *destination = MEMORY(CS_U8, 2, 2);
    assert_int_equal(cs_view_narrow(&source->view, 0, 1, 2), CS_OK);
    assert_int_equal(cs_view_narrow(&source->view, 1, 2, 2), CS_OK);
    assert_int_equal(cs_device_copy(ref(), &destination->view, &source->view), CS_OK);
    assert_memory_equal(destination->bytes, ((uint8_t[]){7, 8, 11, 12, 0}), 5);
}

static void another_dtype_is_converted_by_value_even_at_equal_width(void **state) {
    (void)state;
    struct tensor *u8 = MEMORY(CS_U8, 2), *e8m0 = MEMORY(CS_E8M0, 2), *f32 = MEMORY(CS_F32, 2);
    u8->bytes[0] = 1, u8->bytes[1] = 128;
    assert_int_equal(cs_device_copy(ref(), &e8m0->view, &u8->view), CS_OK);
    assert_memory_equal(e8m0->bytes, ((uint8_t[]){127, 134}), 2);
    assert_int_equal(cs_device_copy(ref(), &f32->view, &u8->view), CS_OK);
    assert_memory_equal(f32->bytes, ((float[]){1, 128}), 8);
}

static void a_synthetic_source_is_computed_where_it_is_read(void **state) {
    (void)state;
    struct tensor *source = TENSOR(CS_STORAGE_SYNTHETIC, CS_U8, 2, 4), *destination = MEMORY(CS_U8, 2, 2);
    source->storage.content = (struct cs_content){.kind = CS_CONTENT_PATTERN, .as = CS_U8};
    assert_int_equal(cs_view_narrow(&source->view, 1, 2, 2), CS_OK);
    assert_int_equal(cs_device_copy(ref(), &destination->view, &source->view), CS_OK);
    assert_memory_equal(destination->bytes, ((uint8_t[]){0x3C, 0xDA, 0xB5, 0x53}), 4); /* elements 2 3 6 7 */
}

static void a_synthetic_source_of_another_dtype_is_converted(void **state) {
    (void)state;
    struct tensor *source = TENSOR(CS_STORAGE_SYNTHETIC, CS_BF16, 4), *f32 = MEMORY(CS_F32, 4), *f16 = MEMORY(CS_F16, 4);
    source->storage.content = (struct cs_content){.kind = CS_CONTENT_PATTERN, .as = CS_BF16};
    assert_int_equal(cs_device_copy(ref(), &f32->view, &source->view), CS_OK);
    assert_memory_equal(f32->bytes, ((float[]){-2, 0.46875f, -1.0625f, 1.40625f}), 16);
    assert_int_equal(cs_device_copy(ref(), &f16->view, &source->view), CS_OK);
    assert_memory_equal(f16->bytes, ((uint16_t[]){0xC000, 0x3780, 0xBC40, 0x3DA0}), 8);
    source->view.dtype = CS_U8;
    struct tensor *u8 = MEMORY(CS_U8, 4);
    assert_int_equal(cs_device_copy(ref(), &u8->view, &source->view), CS_BAD_TYPE);
}

static void host_bytes_need_no_alignment(void **state) {
    (void)state;
    struct tensor *source = numbered(TENSOR(CS_STORAGE_HOST, CS_U32, 3)), *destination = MEMORY(CS_U32, 3);
    source->storage.data = source->bytes + 1;
    assert_int_equal(cs_device_copy(ref(), &destination->view, &source->view), CS_OK);
    assert_memory_equal(destination->bytes, source->bytes + 1, 12);
}

static void writing_meta_does_nothing_and_reading_it_is_refused(void **state) {
    (void)state;
    struct tensor *meta = TENSOR(CS_STORAGE_META, CS_U8, 4), *memory = MEMORY(CS_U8, 4);
    struct cs_fill fill = {meta->view, 1};
    struct cs_difference difference;
    uint64_t digest;
    assert_int_equal(cs_device_copy(ref(), &meta->view, &memory->view), CS_OK);
    assert_int_equal(cs_device_copy(ref(), &meta->view, &meta->view), CS_OK);
    assert_int_equal(cs_device_fill(ref(), &fill, 1), CS_OK);
    assert_int_equal(cs_device_write(ref(), &meta->view, "abcd", 4), CS_OK);
    assert_int_equal(cs_device_copy(ref(), &memory->view, &meta->view), CS_REFUSED);
    assert_string_equal(cs_error_text(), "copy: cannot read w: a meta tensor has no data");
    assert_int_equal(cs_device_compare(ref(), &memory->view, &meta->view, &difference), CS_REFUSED);
    assert_int_equal(cs_device_digest(ref(), &meta->view, &digest), CS_REFUSED);
    struct tensor *packed = MEMORY(CS_E2M1, 4); /* "copy_" not implemented for 'Float4_e2m1fn_x2' */
    assert_int_equal(cs_device_copy(ref(), &packed->view, &memory->view), CS_REFUSED);
    assert_string_equal(cs_error_text(), "copy: w is u8 and w is e2m1: torch converts no float4");
    assert_int_equal(cs_device_copy(ref(), &memory->view, &packed->view), CS_REFUSED);
}

static void shapes_must_match_even_for_meta(void **state) {
    (void)state;
    struct tensor *a = TENSOR(CS_STORAGE_META, CS_U8, 2, 3), *b = MEMORY(CS_U8, 3, 2);
    assert_int_equal(cs_device_copy(ref(), &a->view, &b->view), CS_BAD_SHAPE);
    assert_string_equal(cs_error_text(), "copy: u8[2, 3] of w and u8[3, 2] of w have different shapes");
}

static void host_and_synthetic_are_read_only(void **state) {
    (void)state;
    struct tensor *host = TENSOR(CS_STORAGE_HOST, CS_U8, 4), *memory = MEMORY(CS_U8, 4);
    struct cs_fill fill = {host->view, 1};
    assert_int_equal(cs_device_copy(ref(), &host->view, &memory->view), CS_INTERNAL);
    assert_string_equal(cs_error_text(), "copy: w is read-only");
    assert_int_equal(cs_device_fill(ref(), &fill, 1), CS_INTERNAL);
    assert_int_equal(cs_device_write(ref(), &host->view, "abcd", 4), CS_INTERNAL);
}

static void views_must_lie_inside_their_storages(void **state) {
    (void)state;
    struct tensor *a = MEMORY(CS_U8, 2, 4), *b = MEMORY(CS_U8, 2, 4);
    struct cs_difference difference;
    uint64_t digest;
    b->view.offset = 1;
    assert_int_equal(cs_device_copy(ref(), &a->view, &b->view), CS_BAD_INDEX);
    assert_int_equal(cs_device_copy(ref(), &b->view, &a->view), CS_BAD_INDEX);
    assert_int_equal(cs_device_fill(ref(), &(struct cs_fill){b->view, 0}, 1), CS_BAD_INDEX);
    assert_int_equal(cs_device_compare(ref(), &a->view, &b->view, &difference), CS_BAD_INDEX);
    assert_int_equal(cs_device_digest(ref(), &b->view, &digest), CS_BAD_INDEX);
    assert_int_equal(cs_device_read(ref(), &b->view, a->bytes, 8), CS_BAD_INDEX);
}

static void an_expanded_view_can_be_read_but_not_written(void **state) {
    (void)state;
    struct tensor *row = numbered(MEMORY(CS_U8, 2)), *matrix = MEMORY(CS_U8, 3, 2);
    struct cs_view expanded = matrix->view;
    expanded.storage = &row->storage;
    expanded.stride[0] = 0;
    assert_int_equal(cs_device_copy(ref(), &matrix->view, &expanded), CS_OK);
    assert_memory_equal(matrix->bytes, ((uint8_t[]){1, 2, 1, 2, 1, 2}), 6);
    assert_int_equal(cs_device_copy(ref(), &expanded, &matrix->view), CS_UNSUPPORTED);
}

static void a_fill_is_a_batch_and_checks_all_of_it_first(void **state) {
    (void)state;
    struct tensor *a = MEMORY(CS_U8, 4), *meta = TENSOR(CS_STORAGE_META, CS_U8, 4), *b = MEMORY(CS_BF16, 2, 2);
    struct cs_view column = b->view, empty = a->view;
    assert_int_equal(cs_view_narrow(&column, 1, 1, 1), CS_OK);
    assert_int_equal(cs_view_narrow(&empty, 0, 0, 0), CS_OK);
    struct cs_fill fills[] = {{a->view, 9}, {meta->view, 9}, {empty, 9}, {column, 0x3F80}, {a->view, 8}};
    assert_int_equal(cs_device_fill(ref(), fills, 4), CS_OK);
    assert_memory_equal(a->bytes, "\x09\x09\x09\x09\x00", 5);
    assert_memory_equal(b->bytes, ((uint16_t[]){0, 0x3F80, 0, 0x3F80, 0}), 10);
    fills[4].view.offset = 1;
    fills[0].bits = 7;
    assert_int_equal(cs_device_fill(ref(), fills, 5), CS_BAD_INDEX);
    assert_memory_equal(a->bytes, "\x09\x09\x09\x09\x00", 5);
    assert_int_equal(cs_device_fill(ref(), NULL, 0), CS_OK);
}

static void comparing_counts_and_finds_the_first(void **state) {
    (void)state;
    struct tensor *a = numbered(MEMORY(CS_U8, 2, 3)), *b = numbered(MEMORY(CS_U8, 2, 3)), *wide = MEMORY(CS_BF16, 2, 3);
    struct cs_difference difference;
    assert_int_equal(cs_device_compare(ref(), &a->view, &b->view, &difference), CS_OK);
    assert_int_equal(difference.n_elements, 0);
    assert_int_equal(difference.first, -1);
    b->bytes[2] = b->bytes[5] = 99;
    assert_int_equal(cs_device_compare(ref(), &a->view, &b->view, &difference), CS_OK);
    assert_int_equal(difference.n_elements, 2);
    assert_int_equal(difference.first, 2);
    assert_int_equal(cs_device_compare(ref(), &a->view, &wide->view, &difference), CS_BAD_TYPE);
    a->view.dtype = CS_E4M3; /* bitwise: the width is all that matters */
    assert_int_equal(cs_device_compare(ref(), &a->view, &b->view, &difference), CS_OK);
}

static void synthetic_numbers_can_be_compared_digested_and_read(void **state) {
    (void)state;
    struct tensor *source = TENSOR(CS_STORAGE_SYNTHETIC, CS_BF16, 3, 5), *memory = MEMORY(CS_BF16, 3, 5);
    source->storage.content = (struct cs_content){.kind = CS_CONTENT_HASH, .as = CS_BF16, .key = 4};
    struct cs_difference difference;
    uint64_t expected, digest;
    uint8_t bytes[30];
    assert_int_equal(cs_device_copy(ref(), &memory->view, &source->view), CS_OK);
    assert_int_equal(cs_device_compare(ref(), &source->view, &memory->view, &difference), CS_OK);
    assert_int_equal(difference.n_elements, 0);
    assert_int_equal(cs_device_compare(ref(), &source->view, &source->view, &difference), CS_OK);
    assert_int_equal(difference.n_elements, 0);
    assert_int_equal(cs_device_digest(ref(), &memory->view, &expected), CS_OK);
    assert_int_equal(cs_device_digest(ref(), &source->view, &digest), CS_OK);
    assert_true(digest == expected);
    assert_int_equal(cs_device_read(ref(), &source->view, bytes, 30), CS_OK);
    assert_memory_equal(bytes, memory->bytes, 30);
}

static void host_memory_is_packed(void **state) {
    (void)state;
    struct tensor *t = numbered(MEMORY(CS_U8, 3, 4));
    uint8_t bytes[6];
    assert_int_equal(cs_view_narrow(&t->view, 1, 1, 2), CS_OK);
    assert_int_equal(cs_device_read(ref(), &t->view, bytes, 6), CS_OK);
    assert_memory_equal(bytes, ((uint8_t[]){2, 3, 6, 7, 10, 11}), 6);
    assert_int_equal(cs_device_write(ref(), &t->view, "abcdef", 6), CS_OK);
    assert_memory_equal(t->bytes, "\1ab\4\5cd\10\11ef\14\15", 13);
    assert_int_equal(cs_device_read(ref(), &t->view, bytes, 5), CS_BAD_SHAPE);
    assert_string_equal(cs_error_text(), "read: u8[3, 2] of w takes 6 bytes, not 5");
    assert_int_equal(cs_device_write(ref(), &t->view, "abcdefg", 7), CS_BAD_SHAPE);
}

/* Elements 1 2 3 of the nibbles 1 0 2 0 (bytes 01 02, low nibble first) are 0 2 0: packed 20 00. */
static void odd_runs_of_four_bit_elements_are_packed_too(void **state) {
    (void)state;
    struct tensor *t = numbered(MEMORY(CS_E2M1, 8));
    uint8_t bytes[2];
    struct cs_view head = t->view, odd = t->view;
    assert_int_equal(cs_view_narrow(&odd, 0, 1, 3), CS_OK);
    assert_int_equal(cs_device_read(ref(), &odd, bytes, 2), CS_OK);
    assert_memory_equal(bytes, ((uint8_t[]){0x20, 0x00}), 2);
    t->bytes[1] = 0xBA;
    assert_int_equal(cs_view_narrow(&head, 0, 0, 3), CS_OK);
    assert_int_equal(cs_device_read(ref(), &head, bytes, 2), CS_OK);
    assert_memory_equal(bytes, ((uint8_t[]){0x01, 0x0A}), 2); /* B is the next element */
    assert_int_equal(cs_device_write(ref(), &head, (uint8_t[]){0x43, 0xF5}, 2), CS_OK);
    assert_memory_equal(t->bytes, ((uint8_t[]){0x43, 0xB5, 3}), 3); /* the last half byte is nobody's */
}

static void empty_views_succeed_everywhere(void **state) {
    (void)state;
    struct tensor *a = TENSOR(CS_STORAGE_MEMORY, CS_U8, 0, 3), *b = TENSOR(CS_STORAGE_MEMORY, CS_U8, 0, 3);
    struct cs_difference difference;
    uint64_t digest = 1;
    a->storage.data = b->storage.data = NULL;
    assert_int_equal(cs_device_copy(ref(), &a->view, &b->view), CS_OK);
    assert_int_equal(cs_device_fill(ref(), &(struct cs_fill){a->view, 1}, 1), CS_OK);
    assert_int_equal(cs_device_compare(ref(), &a->view, &b->view, &difference), CS_OK);
    assert_int_equal(cs_device_digest(ref(), &a->view, &digest), CS_OK);
    assert_true(digest == cs_mix64(0));
    assert_int_equal(cs_device_read(ref(), &a->view, NULL, 0), CS_OK);
    assert_int_equal(cs_device_write(ref(), &a->view, NULL, 0), CS_OK);
}

static void an_empty_slot_says_so(void **state) {
    (void)state;
    static const struct cs_device bare = {.name = "bare"};
    struct tensor *a = MEMORY(CS_U8, 4), *b = MEMORY(CS_U8, 4), *f32 = MEMORY(CS_F32, 4);
    struct cs_difference difference;
    struct cs_plan plan = {.bits = 8};
    uint64_t digest;
    void *data;
    assert_int_equal(cs_device_copy(&bare, &a->view, &b->view), CS_UNSUPPORTED);
    assert_string_equal(cs_error_text(), "copy: not supported by bare");
    assert_int_equal(cs_device_copy(&bare, &f32->view, &b->view), CS_UNSUPPORTED);
    assert_string_equal(cs_error_text(), "convert: not supported by bare");
    assert_int_equal(cs_device_fill(&bare, NULL, 0), CS_UNSUPPORTED);
    assert_int_equal(cs_device_relayout(&bare, &plan, 1, &a->view, &b->view), CS_UNSUPPORTED);
    assert_string_equal(cs_error_text(), "relayout: not supported by bare");
    assert_int_equal(cs_device_compare(&bare, &a->view, &b->view, &difference), CS_UNSUPPORTED);
    assert_int_equal(cs_device_digest(&bare, &a->view, &digest), CS_UNSUPPORTED);
    assert_int_equal(cs_device_read(&bare, &a->view, b->bytes, 4), CS_UNSUPPORTED);
    assert_int_equal(cs_device_write(&bare, &a->view, b->bytes, 4), CS_UNSUPPORTED);
    struct cs_memory memory = cs_device_memory(&bare);
    assert_int_equal(memory.allocate(memory.context, 4, &data), CS_UNSUPPORTED);
}

static enum cs_status reverse_bytes(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                                    const struct cs_view *destination, const struct cs_view *source) {
    (void)device, (void)plan, (void)n_matrices;
    unsigned char *to = destination->storage->data;
    const unsigned char *from = source->storage->data;
    size_t n = cs_view_span_bytes(source);
    for (size_t i = 0; i < n; i++) to[i] = from[n - 1 - i];
    return CS_OK;
}

static void a_relayout_is_checked_before_it_runs(void **state) {
    (void)state;
    struct cs_device device = *ref();
    device.relayout = reverse_bytes;
    struct tensor *a = MEMORY(CS_U8, 2, 3, 4), *b = numbered(MEMORY(CS_U8, 2, 3, 4));
    struct tensor *synthetic = TENSOR(CS_STORAGE_SYNTHETIC, CS_U8, 2, 3, 4);
    struct cs_plan plan = {.bits = 8, .rows = 3, .columns = 4, .source_rows = 3, .source_columns = 4};
    assert_int_equal(cs_device_relayout(&device, &plan, 2, &a->view, &b->view), CS_OK);
    assert_int_equal(a->bytes[0], 24);
    struct cs_plan nibbles = {.bits = 4, .rows = 3, .columns = 8, .source_rows = 6, .source_columns = 4};
    assert_int_equal(cs_device_relayout(&device, &nibbles, 2, &a->view, &b->view), CS_OK);
    assert_int_equal(cs_device_relayout(&device, &plan, 3, &a->view, &b->view), CS_BAD_SHAPE);
    assert_string_equal(cs_error_text(), "relayout: u8[2, 3, 4] of w is not 3 matrices 3 x 4 of 8 bits");
    assert_int_equal(cs_device_relayout(&device, &plan, INT64_MAX, &a->view, &b->view), CS_BAD_SHAPE);
    assert_int_equal(cs_device_relayout(&device, &plan, 2, &a->view, &a->view), CS_INTERNAL);
    synthetic->storage.content = (struct cs_content){.kind = CS_CONTENT_DIGIT, .as = CS_U8};
    assert_int_equal(cs_device_relayout(&device, &plan, 2, &a->view, &synthetic->view), CS_OK);
    assert_int_equal(a->bytes[0], 23);
    b->view.stride[0] = 11;
    assert_int_equal(cs_device_relayout(&device, &plan, 2, &a->view, &b->view), CS_BAD_SHAPE);
}

static void an_allocator_can_live_on_a_device(void **state) {
    (void)state;
    struct cs_allocator_rule rule = cs_allocator_harshest;
    struct cs_memory memory = cs_device_memory(ref());
    struct cs_allocator allocator;
    struct cs_storage *garbage, *nan;
    rule.fresh_reload = (struct cs_pattern){.kind = CS_PATTERN_NAN};
    rule.recycle_up_to = 0;
    cs_allocator_init(&allocator, &rule, &memory, 3);
    assert_int_equal(cs_allocate(&allocator, 1001, CS_BF16, "g", &garbage), CS_OK);
    uint64_t key = cs_stream_key(3, "garbage", 1);
    for (size_t i = 0; i < 1001; i++)
        assert_int_equal(((uint8_t *)garbage->data)[i], cs_mix64(key + i / 8) >> (i % 8 * 8) & 0xFF);
    allocator.phase = CS_PHASE_RELOAD;
    assert_int_equal(cs_allocate(&allocator, 6, CS_BF16, "n", &nan), CS_OK);
    assert_memory_equal(nan->data, ((uint16_t[]){0x7FC0, 0x7FC0, 0x7FC0}), 6);
    assert_int_equal(cs_allocate(&allocator, SIZE_MAX / 2, CS_U8, "huge", &nan), CS_NO_MEMORY);
    assert_non_null(strstr(cs_error_text(), "9223372036854775807 bytes"));
    cs_allocator_close(&allocator);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ref_is_always_there),
        cmocka_unit_test(copying_moves_strided_elements),
        cmocka_unit_test(another_dtype_is_converted_by_value_even_at_equal_width),
        cmocka_unit_test(a_synthetic_source_is_computed_where_it_is_read),
        cmocka_unit_test(a_synthetic_source_of_another_dtype_is_converted),
        cmocka_unit_test(host_bytes_need_no_alignment),
        cmocka_unit_test(writing_meta_does_nothing_and_reading_it_is_refused),
        cmocka_unit_test(shapes_must_match_even_for_meta),
        cmocka_unit_test(host_and_synthetic_are_read_only),
        cmocka_unit_test(views_must_lie_inside_their_storages),
        cmocka_unit_test(an_expanded_view_can_be_read_but_not_written),
        cmocka_unit_test(a_fill_is_a_batch_and_checks_all_of_it_first),
        cmocka_unit_test(comparing_counts_and_finds_the_first),
        cmocka_unit_test(synthetic_numbers_can_be_compared_digested_and_read),
        cmocka_unit_test(host_memory_is_packed),
        cmocka_unit_test(odd_runs_of_four_bit_elements_are_packed_too),
        cmocka_unit_test(empty_views_succeed_everywhere),
        cmocka_unit_test(an_empty_slot_says_so),
        cmocka_unit_test(a_relayout_is_checked_before_it_runs),
        cmocka_unit_test(an_allocator_can_live_on_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
