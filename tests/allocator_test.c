#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/tensor/tensor.h"

/* Memory that counts, and can be told to fail at the n-th call. */
struct toy_memory {
    int n_allocated, n_released, n_writes, fail_at; /* fail_at: 0 never; counts allocations and writes */
    int n_calls;
};

static enum cs_status toy_call(struct toy_memory *toy) {
    CS_REQUIRE(++toy->n_calls != toy->fail_at, CS_NO_MEMORY, "toy: call %d fails", toy->n_calls);
    return CS_OK;
}

static enum cs_status toy_allocate(void *context, size_t bytes, void **data) {
    struct toy_memory *toy = context;
    CS_TRY(toy_call(toy));
    *data = malloc(bytes);
    assert_non_null(*data);
    toy->n_allocated++;
    return CS_OK;
}

static void toy_release(void *context, void *data, size_t bytes) {
    struct toy_memory *toy = context;
    toy->n_released++;
    memset(data, 0x55, bytes); /* the size must be right */
    free(data);
}

static enum cs_status toy_write(void *context, struct cs_storage *storage, const struct cs_content *content) {
    struct toy_memory *toy = context;
    size_t width = (size_t)cs_dtype_bits(content->as) / 8;
    CS_TRY(toy_call(toy));
    assert_int_equal(storage->bytes % width, 0);
    for (size_t i = 0; i < storage->bytes / width; i++) {
        uint64_t element = cs_content_element(content, content->as, i);
        memcpy((unsigned char *)storage->data + i * width, &element, width);
    }
    toy->n_writes++;
    return CS_OK;
}

static struct cs_allocator allocator_with(struct toy_memory *toy, struct cs_allocator_rule rule) {
    struct cs_allocator allocator;
    struct cs_memory memory = {toy, toy_allocate, toy_release, toy_write};
    *toy = (struct toy_memory){0};
    cs_allocator_init(&allocator, &rule, &memory, 7);
    return allocator;
}

static struct cs_storage *take(struct cs_allocator *allocator, size_t bytes, enum cs_dtype dtype) {
    struct cs_storage *storage = NULL;
    assert_int_equal(cs_allocate(allocator, bytes, dtype, "w", &storage), CS_OK);
    return storage;
}

static void close_and_check(struct cs_allocator *allocator, const struct toy_memory *toy) {
    cs_allocator_close(allocator);
    assert_int_equal(toy->n_allocated, toy->n_released);
    assert_null(allocator->storages);
    assert_int_equal(allocator->bytes_alive, 0);
}

static void assert_bytes(const struct cs_storage *storage, uint8_t byte) {
    for (size_t i = 0; i < storage->bytes; i++) assert_int_equal(((uint8_t *)storage->data)[i], byte);
}

/* Bytes of mix64(stream key + word). */
static void assert_garbage(const struct cs_allocator *allocator, const struct cs_storage *storage) {
    uint64_t key = cs_stream_key(allocator->key, "garbage", storage->id);
    for (size_t i = 0; i < storage->bytes; i++)
        assert_int_equal(((uint8_t *)storage->data)[i], cs_mix64(key + i / 8) >> (i % 8 * 8) & 0xFF);
}

static const struct cs_pattern zero = {CS_PATTERN_BYTE, 0}, poison = {CS_PATTERN_BYTE, 0xAA}, nan_pattern = {CS_PATTERN_NAN, 0};

static void patterns_have_names(void **state) {
    (void)state;
    struct cs_pattern p;
    assert_int_equal(cs_pattern_parse("zero", &p), CS_OK);
    assert_true(p.kind == CS_PATTERN_BYTE && p.byte == 0);
    assert_int_equal(cs_pattern_parse("0xAa", &p), CS_OK);
    assert_true(p.kind == CS_PATTERN_BYTE && p.byte == 0xAA);
    assert_int_equal(cs_pattern_parse("0x1", &p), CS_OK);
    assert_true(p.kind == CS_PATTERN_BYTE && p.byte == 1);
    assert_int_equal(cs_pattern_parse("nan", &p), CS_OK);
    assert_int_equal(p.kind, CS_PATTERN_NAN);
    assert_int_equal(cs_pattern_parse("random", &p), CS_OK);
    assert_int_equal(p.kind, CS_PATTERN_RANDOM);
    const char *bad[] = {"", "0x", "0x100", "0xG0", "0", "170", "Zero", "0xAA ", "x"};
    for (size_t i = 0; i < CS_COUNT(bad); i++) assert_int_equal(cs_pattern_parse(bad[i], &p), CS_BAD_VALUE);
}

static void the_harshest_rule_gives_garbage_in_both_phases(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, cs_allocator_harshest);
    struct cs_storage *cold = take(&a, 37, CS_U8);
    assert_int_equal(cold->origin, CS_ORIGIN_FRESH);
    assert_garbage(&a, cold);
    a.phase = CS_PHASE_RELOAD;
    struct cs_storage *warm = take(&a, 37, CS_BF16);
    assert_int_equal(warm->origin, CS_ORIGIN_RECYCLED);
    assert_garbage(&a, warm);
    assert_memory_not_equal(cold->data, warm->data, 37);
    close_and_check(&a, &toy);
}

static void each_phase_has_its_fresh_pattern(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, (struct cs_allocator_rule){.fresh_cold = zero, .fresh_reload = poison});
    assert_bytes(take(&a, 9, CS_BF16), 0);
    a.phase = CS_PHASE_RELOAD;
    struct cs_storage *s = take(&a, 9, CS_BF16);
    assert_bytes(s, 0xAA);
    assert_int_equal(s->origin, CS_ORIGIN_FRESH);
    close_and_check(&a, &toy);
}

static void the_nan_pattern_is_the_nan_of_the_dtype(void **state) {
    (void)state;
    static const struct { enum cs_dtype dtype; size_t bytes; uint8_t first[8]; } rows[] = {
        {CS_BF16, 8, {0xC0, 0x7F, 0xC0, 0x7F, 0xC0, 0x7F, 0xC0, 0x7F}}, {CS_F16, 8, {0x00, 0x7E, 0x00, 0x7E, 0x00, 0x7E, 0x00, 0x7E}},
        {CS_F32, 8, {0, 0, 0xC0, 0x7F, 0, 0, 0xC0, 0x7F}},              {CS_F64, 8, {0, 0, 0, 0, 0, 0, 0xF8, 0x7F}},
        {CS_E4M3, 3, {0x7F, 0x7F, 0x7F}},                               {CS_E5M2, 3, {0x7F, 0x7F, 0x7F}},
        {CS_E8M0, 3, {0xFF, 0xFF, 0xFF}},                               {CS_U8, 3, {0xFF, 0xFF, 0xFF}},
        {CS_E2M1, 3, {0xFF, 0xFF, 0xFF}},                               {CS_I32, 4, {0xFF, 0xFF, 0xFF, 0xFF}},
        {CS_F32, 7, {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}}, /* no whole number of elements */
    };
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, (struct cs_allocator_rule){.fresh_cold = nan_pattern});
    for (size_t i = 0; i < CS_COUNT(rows); i++)
        assert_memory_equal(take(&a, rows[i].bytes, rows[i].dtype)->data, rows[i].first, rows[i].bytes);
    close_and_check(&a, &toy);
}

static void only_small_blocks_are_recycled(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, (struct cs_allocator_rule){.fresh_reload = poison, .recycle_up_to = 64});
    a.phase = CS_PHASE_RELOAD;
    assert_int_equal(take(&a, 64, CS_U8)->origin, CS_ORIGIN_RECYCLED);
    assert_int_equal(take(&a, 65, CS_U8)->origin, CS_ORIGIN_FRESH);
    close_and_check(&a, &toy);
}

/* Classes up to 16 and up to 64 bytes; two fresh blocks of each come first, in all reloads together. */
static void each_class_is_fresh_until_its_pool_has_grown(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, (struct cs_allocator_rule){
        .fresh_reload = poison, .recycle_up_to = 100, .n_classes = 2, .class_limit = {16, 64}, .fresh_first = 2});
    take(&a, 10, CS_U8); /* cold blocks do not count */
    static const struct { size_t bytes; enum cs_origin origin; } reload[] = {
        {10, CS_ORIGIN_FRESH}, {16, CS_ORIGIN_FRESH},  {17, CS_ORIGIN_FRESH}, {1, CS_ORIGIN_RECYCLED}, {64, CS_ORIGIN_FRESH},
        {17, CS_ORIGIN_RECYCLED}, {65, CS_ORIGIN_FRESH}, {66, CS_ORIGIN_FRESH}, {65, CS_ORIGIN_FRESH}, {65, CS_ORIGIN_RECYCLED},
        {66, CS_ORIGIN_FRESH}, {101, CS_ORIGIN_FRESH}, {101, CS_ORIGIN_FRESH}, {101, CS_ORIGIN_FRESH}};
    a.phase = CS_PHASE_RELOAD;
    for (size_t i = 0; i < CS_COUNT(reload); i++) assert_int_equal(take(&a, reload[i].bytes, CS_U8)->origin, reload[i].origin);
    a.phase = CS_PHASE_COLD;
    assert_int_equal(take(&a, 10, CS_U8)->origin, CS_ORIGIN_FRESH);
    a.phase = CS_PHASE_RELOAD; /* a second reload goes on where the first ended */
    assert_int_equal(take(&a, 10, CS_U8)->origin, CS_ORIGIN_RECYCLED);
    close_and_check(&a, &toy);
}

static void recycled_blocks_may_keep_their_bytes(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, (struct cs_allocator_rule){
        .fresh_reload = poison, .recycle_up_to = 100, .recycled_keeps_bytes = true, .n_classes = 1, .class_limit = {32}});
    struct cs_storage *kept = take(&a, 30, CS_U8), *freed = take(&a, 20, CS_U8), *exact = take(&a, 40, CS_U8);
    void *block = freed->data;
    kept->is_reachable = true;
    memset(freed->data, 0x11, 20);
    memset(exact->data, 0x22, 40);
    cs_allocator_sweep(&a);
    assert_int_equal(toy.n_released, 0);
    a.phase = CS_PHASE_RELOAD;
    struct cs_storage *too_long = take(&a, 21, CS_U8); /* same class, but the free block is shorter */
    assert_int_equal(too_long->origin, CS_ORIGIN_FRESH);
    struct cs_storage *again = take(&a, 12, CS_U8);
    assert_int_equal(again->origin, CS_ORIGIN_STALE);
    assert_ptr_equal(again->data, block);
    assert_int_equal(again->block_bytes, 20);
    assert_bytes(again, 0x11);
    assert_int_equal(take(&a, 12, CS_U8)->origin, CS_ORIGIN_FRESH); /* none left */
    assert_int_equal(take(&a, 39, CS_U8)->origin, CS_ORIGIN_FRESH); /* above the classes: exact sizes only */
    assert_bytes(take(&a, 40, CS_U8), 0x22);
    close_and_check(&a, &toy);
}

/* Garbage for nobody: written only where a later request may see it. */
static void what_is_written_whole_is_not_poisoned_before(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_storage *result, *other;
    struct cs_allocator a = allocator_with(&toy, cs_allocator_harshest);
    assert_int_equal(cs_allocate_result(&a, 24, CS_U8, "w", &result), CS_OK);
    assert_int_equal(toy.n_writes, 0);
    assert_int_equal(result->origin, CS_ORIGIN_FRESH);
    assert_int_equal(a.bytes_alive, 24);
    take(&a, 24, CS_U8);
    assert_int_equal(toy.n_writes, 1);
    close_and_check(&a, &toy);
    a = allocator_with(&toy, (struct cs_allocator_rule){.recycle_up_to = 100, .recycled_keeps_bytes = true});
    assert_int_equal(cs_allocate_result(&a, 24, CS_U8, "w", &other), CS_OK);
    assert_int_equal(toy.n_writes, 1);
    close_and_check(&a, &toy);
}

static void an_exchange_moves_what_two_storages_hold(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, cs_allocator_harshest);
    struct cs_storage *x = take(&a, 16, CS_U8), *y = take(&a, 16, CS_U8);
    uint64_t id = x->id;
    memset(x->data, 1, 16);
    memset(y->data, 2, 16);
    assert_true(cs_allocator_exchange(&a, x, y));
    assert_bytes(x, 2);
    assert_bytes(y, 1);
    assert_int_equal(x->id, id);
    close_and_check(&a, &toy);
}

static void no_exchange_that_could_be_told_from_a_copy(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, cs_allocator_harshest);
    struct cs_storage *x = take(&a, 16, CS_U8), *y = take(&a, 16, CS_U8), *longer = take(&a, 17, CS_U8);
    assert_false(cs_allocator_exchange(&a, x, longer));
    x->is_captured = true; /* a graph reads its address */
    assert_false(cs_allocator_exchange(&a, x, y));
    assert_false(cs_allocator_exchange(&a, y, x));
    x->is_captured = false;
    y->n_holders = 1; /* a buffered call reads it later */
    assert_false(cs_allocator_exchange(&a, x, y));
    y->n_holders = 0;
    a.rule.recycled_keeps_bytes = true; /* freed, its bytes are seen again */
    assert_false(cs_allocator_exchange(&a, x, y));
    a.rule.recycled_keeps_bytes = false;
    assert_true(cs_allocator_exchange(&a, x, y));
    close_and_check(&a, &toy);
}

static void an_id_is_never_used_twice(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, (struct cs_allocator_rule){.recycle_up_to = 100, .recycled_keeps_bytes = true});
    uint64_t first = take(&a, 8, CS_U8)->id;
    cs_allocator_sweep(&a);
    a.phase = CS_PHASE_RELOAD;
    struct cs_storage *again = take(&a, 8, CS_U8);
    assert_int_equal(first, 1);
    assert_int_equal(again->id, 2);
    assert_int_equal(again->origin, CS_ORIGIN_STALE);
    close_and_check(&a, &toy);
}

static void sweeping_frees_what_nobody_marked(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, cs_allocator_harshest);
    struct cs_storage *s[5];
    for (size_t i = 0; i < 5; i++) s[i] = take(&a, 10 + i, CS_U8);
    assert_int_equal(a.bytes_alive, 60);
    s[1]->is_reachable = s[4]->is_reachable = true;
    cs_allocator_sweep(&a);
    assert_int_equal(a.bytes_alive, 25);
    assert_int_equal(a.bytes_peak, 60);
    assert_int_equal(toy.n_released, 3);
    assert_ptr_equal(a.storages, s[4]);
    assert_ptr_equal(a.storages->next, s[1]);
    assert_false(s[1]->is_reachable);
    cs_allocator_sweep(&a);
    assert_null(a.storages);
    close_and_check(&a, &toy);
}

static void storages_without_memory_take_none(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, cs_allocator_harshest);
    struct cs_storage *meta, *synthetic, *host;
    struct cs_content content = {.kind = CS_CONTENT_HASH, .as = CS_U8, .key = 5};
    static const uint8_t bytes[4] = {1, 2, 3, 4};
    assert_int_equal(cs_allocate_kind(&a, CS_STORAGE_META, 1 << 20, NULL, NULL, "m", &meta), CS_OK);
    assert_int_equal(cs_allocate_kind(&a, CS_STORAGE_SYNTHETIC, 1 << 20, &content, NULL, "s", &synthetic), CS_OK);
    assert_int_equal(cs_allocate_kind(&a, CS_STORAGE_HOST, 4, NULL, bytes, "h", &host), CS_OK);
    assert_int_equal(a.bytes_alive, 0);
    assert_null(meta->data);
    assert_null(synthetic->data);
    assert_int_equal(synthetic->content.key, 5);
    assert_ptr_equal(host->data, bytes);
    assert_int_equal(host->id, 3);
    assert_string_equal(meta->label, "m");
    close_and_check(&a, &toy);
    assert_int_equal(toy.n_allocated, 0);
}

static void zero_bytes_take_no_memory(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, cs_allocator_harshest);
    struct cs_storage *s = take(&a, 0, CS_F32);
    assert_int_equal(s->id, 1);
    assert_null(s->data);
    a.phase = CS_PHASE_RELOAD;
    take(&a, 0, CS_F32);
    close_and_check(&a, &toy);
    assert_int_equal(toy.n_calls, 0);
}

static void every_failure_leaves_nothing_behind(void **state) {
    (void)state;
    for (int n = 1; n <= 4; n++) {
        struct toy_memory toy;
        struct cs_allocator a = allocator_with(&toy, cs_allocator_harshest);
        struct cs_storage *s;
        toy.fail_at = n;
        int n_failed = (cs_allocate(&a, 8, CS_U8, "w", &s) != CS_OK);
        a.phase = CS_PHASE_RELOAD;
        n_failed += (cs_allocate(&a, 8, CS_U8, "w", &s) != CS_OK);
        assert_int_equal(n_failed, 1);
        assert_int_equal(a.bytes_alive, 8);
        close_and_check(&a, &toy);
    }
}

static void impossible_sizes_are_refused(void **state) {
    (void)state;
    struct toy_memory toy;
    struct cs_allocator a = allocator_with(&toy, cs_allocator_harshest);
    struct cs_storage *s;
    take(&a, 1, CS_U8);
    assert_int_equal(cs_allocate(&a, SIZE_MAX, CS_U8, "w", &s), CS_NO_MEMORY);
    assert_int_equal(a.bytes_alive, 1);
    close_and_check(&a, &toy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_have_names),
        cmocka_unit_test(the_harshest_rule_gives_garbage_in_both_phases),
        cmocka_unit_test(each_phase_has_its_fresh_pattern),
        cmocka_unit_test(the_nan_pattern_is_the_nan_of_the_dtype),
        cmocka_unit_test(only_small_blocks_are_recycled),
        cmocka_unit_test(each_class_is_fresh_until_its_pool_has_grown),
        cmocka_unit_test(recycled_blocks_may_keep_their_bytes),
        cmocka_unit_test(what_is_written_whole_is_not_poisoned_before),
        cmocka_unit_test(an_exchange_moves_what_two_storages_hold),
        cmocka_unit_test(no_exchange_that_could_be_told_from_a_copy),
        cmocka_unit_test(an_id_is_never_used_twice),
        cmocka_unit_test(sweeping_frees_what_nobody_marked),
        cmocka_unit_test(storages_without_memory_take_none),
        cmocka_unit_test(zero_bytes_take_no_memory),
        cmocka_unit_test(every_failure_leaves_nothing_behind),
        cmocka_unit_test(impossible_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
