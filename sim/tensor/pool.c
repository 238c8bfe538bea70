#include "sim/tensor/tensor.h"

#include <stdlib.h>

struct cs_pool_block {
    struct cs_pool_block *next;
    void *data;
    size_t bytes;
};

static void give_back(struct cs_pool *pool, struct cs_pool_block **link) {
    struct cs_pool_block *block = *link;
    *link = block->next;
    pool->idle_bytes -= block->bytes;
    pool->below.release(pool->below.context, block->data, block->bytes);
    free(block);
}

/* A record for a block; NULL when out of memory. */
static struct cs_pool_block *new_record(struct cs_pool *pool) {
    struct cs_pool_block *record = pool->spare;
    if (!record) return malloc(sizeof *record);
    pool->spare = record->next;
    return record;
}

enum { IDLE_BYTES = 1 << 30, IDLE_SHARE = 8 };

/* Oldest blocks first: they are the least likely to be asked for again. */
static void make_room(struct cs_pool *pool) {
    size_t most = pool->used_peak / IDLE_SHARE > IDLE_BYTES ? pool->used_peak / IDLE_SHARE : IDLE_BYTES;
    while (pool->idle_bytes > most) {
        struct cs_pool_block **link = &pool->idle;
        while ((*link)->next) link = &(*link)->next;
        give_back(pool, link);
    }
}

static void count_used(struct cs_pool *pool, size_t bytes) {
    pool->used_bytes += bytes;
    if (pool->used_bytes > pool->used_peak) pool->used_peak = pool->used_bytes;
}

static enum cs_status allocate(void *context, size_t bytes, void **data) {
    struct cs_pool *pool = context;
    for (struct cs_pool_block **link = &pool->idle; *link; link = &(*link)->next) {
        struct cs_pool_block *block = *link;
        if (block->bytes != bytes) continue;
        *link = block->next;
        *data = block->data;
        pool->idle_bytes -= bytes;
        block->next = pool->spare;
        pool->spare = block;
        count_used(pool, bytes);
        return CS_OK;
    }
    CS_REQUIRE(!pool->most_bytes || pool->used_bytes + bytes <= pool->most_bytes, CS_REFUSED,
               "out of device memory: %zu bytes are in use, and %zu more make more than %zu", pool->used_bytes, bytes,
               pool->most_bytes);
    make_room(pool);
    CS_TRY(pool->below.allocate(pool->below.context, bytes, data));
    count_used(pool, bytes);
    return CS_OK;
}

static void release(void *context, void *data, size_t bytes) {
    struct cs_pool *pool = context;
    pool->used_bytes -= bytes;
    struct cs_pool_block *block = data ? new_record(pool) : NULL;
    if (!block) {
        pool->below.release(pool->below.context, data, bytes);
        return;
    }
    *block = (struct cs_pool_block){pool->idle, data, bytes};
    pool->idle = block;
    pool->idle_bytes += bytes;
}

static enum cs_status write_content(void *context, struct cs_storage *storage, const struct cs_content *content) {
    struct cs_pool *pool = context;
    return pool->below.write(pool->below.context, storage, content);
}

void cs_pool_init(struct cs_pool *pool, const struct cs_memory *below) { *pool = (struct cs_pool){.below = *below}; }

struct cs_memory cs_pool_memory(struct cs_pool *pool) {
    return (struct cs_memory){.context = pool, .allocate = allocate, .release = release, .write = write_content};
}

void cs_pool_close(struct cs_pool *pool) {
    while (pool->idle) give_back(pool, &pool->idle);
    while (pool->spare) {
        struct cs_pool_block *record = pool->spare;
        pool->spare = record->next;
        free(record);
    }
}
