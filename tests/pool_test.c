/* The pool in front of a memory that counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sim/tensor/tensor.h"

struct below { int n_allocated, n_released; size_t limit; };

static enum cs_status allocate(void *context, size_t bytes, void **data) {
    struct below *below = context;
    if (bytes > below->limit) return cs_fail(CS_NO_MEMORY, "no memory for %zu bytes", bytes);
    below->n_allocated++;
    *data = malloc(16); /* nobody looks inside: sizes here are larger than the machine */
    return CS_OK;
}

static void release(void *context, void *data, size_t bytes) {
    (void)bytes;
    ((struct below *)context)->n_released++;
    free(data);
}

static struct cs_memory over(struct below *below) { return (struct cs_memory){.context = below, .allocate = allocate, .release = release}; }

static void a_block_serves_the_next_request_of_its_size(void **state) {
    (void)state;
    struct below below = {.limit = SIZE_MAX};
    struct cs_memory memory = over(&below), pooled;
    struct cs_pool pool;
    cs_pool_init(&pool, &memory);
    pooled = cs_pool_memory(&pool);
    void *first, *second, *other;
    assert_int_equal(pooled.allocate(pooled.context, 100, &first), CS_OK);
    pooled.release(pooled.context, first, 100);
    assert_int_equal(pooled.allocate(pooled.context, 101, &other), CS_OK); /* another size: a new block */
    assert_int_equal(pooled.allocate(pooled.context, 100, &second), CS_OK);
    assert_ptr_equal(first, second);
    assert_int_equal(below.n_allocated, 2);
    pooled.release(pooled.context, second, 100);
    pooled.release(pooled.context, other, 101);
    assert_int_equal(below.n_released, 0);
    cs_pool_close(&pool);
    assert_int_equal(below.n_released, 2);
}

/* Idle blocks may stay up to 1 GiB, or an eighth of the most that was used at once; a miss gives the oldest back until then. */
static void idle_blocks_are_bounded_when_a_size_is_missing(void **state) {
    (void)state;
    struct below below = {.limit = SIZE_MAX};
    struct cs_memory memory = over(&below), pooled;
    struct cs_pool pool;
    cs_pool_init(&pool, &memory);
    pooled = cs_pool_memory(&pool);
    const size_t gib = (size_t)1 << 30;
    void *blocks[4], *new_size;
    for (size_t i = 0; i < 4; i++) assert_int_equal(pooled.allocate(pooled.context, gib, &blocks[i]), CS_OK); /* peak 4 GiB, an eighth is less than 1 */
    for (size_t i = 0; i < 4; i++) pooled.release(pooled.context, blocks[i], gib);
    assert_int_equal(below.n_released, 0);
    assert_int_equal(pooled.allocate(pooled.context, 5, &new_size), CS_OK);
    assert_int_equal(below.n_released, 3);
    assert_true(pool.idle_bytes == gib);
    pooled.release(pooled.context, new_size, 5);
    cs_pool_close(&pool);
    assert_int_equal(below.n_allocated, below.n_released);
}

static void a_failure_below_is_passed_on(void **state) {
    (void)state;
    struct below below = {.limit = 10};
    struct cs_memory memory = over(&below), pooled;
    struct cs_pool pool;
    cs_pool_init(&pool, &memory);
    pooled = cs_pool_memory(&pool);
    void *data;
    assert_int_equal(pooled.allocate(pooled.context, 11, &data), CS_NO_MEMORY);
    assert_true(pool.used_bytes == 0);
    pooled.release(pooled.context, NULL, 0);
    cs_pool_close(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_serves_the_next_request_of_its_size),
        cmocka_unit_test(idle_blocks_are_bounded_when_a_size_is_missing),
        cmocka_unit_test(a_failure_below_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
