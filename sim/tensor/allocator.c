#include "sim/tensor/tensor.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Free memory that waits for a request of its class. Invariant: only blocks that the rule may recycle wait here. */
struct cs_block {
    struct cs_block *next;
    void *data;
    size_t bytes;
};

/* Records of storages, many in one piece of memory. */
enum { SLAB_RECORDS = 16 };
struct cs_record_slab {
    struct cs_record_slab *next;
    struct cs_storage records[SLAB_RECORDS];
};

/* How many fresh blocks of a class the reloads of this allocator have had. Reloads share the count: the pool of a
 * caching allocator grows once, whichever reload it is. */
struct cs_size_class {
    struct cs_size_class *next;
    uint64_t limit; /* names the class: its upper limit, or its exact size */
    unsigned n_fresh;
};

const struct cs_allocator_rule cs_allocator_harshest = {
    .fresh_cold = {.kind = CS_PATTERN_RANDOM},
    .fresh_reload = {.kind = CS_PATTERN_RANDOM},
    .recycle_up_to = UINT64_MAX,
};

/* ---- patterns ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "0x7F", "0x1": at most two digits. */
static bool parse_byte(const char *text, uint8_t *byte) {
    int value = 0, n = 0;
    if (text[0] != '0' || (text[1] != 'x' && text[1] != 'X')) return false;
    for (const char *c = text + 2; *c; c++, n++) {
        int digit = hex_digit(*c);
        if (digit < 0 || n == 2) return false;
        value = 16 * value + digit;
    }
    *byte = (uint8_t)value;
    return n > 0;
}

enum cs_status cs_pattern_parse(const char *text, struct cs_pattern *pattern) {
    struct cs_pattern parsed = {0};
    if (cs_text_equal(text, "random"))
        parsed.kind = CS_PATTERN_RANDOM;
    else if (cs_text_equal(text, "nan"))
        parsed.kind = CS_PATTERN_NAN;
    else
        CS_REQUIRE(cs_text_equal(text, "zero") || parse_byte(text, &parsed.byte), CS_BAD_VALUE,
                   "\"%.64s\" is no memory pattern: write \"zero\", a byte such as \"0xAA\", \"nan\" or \"random\"",
                   text);
    *pattern = parsed;
    return CS_OK;
}

static struct cs_content garbage_content(const struct cs_allocator *allocator, uint64_t id) {
    return (struct cs_content){
        .kind = CS_CONTENT_GARBAGE, .as = CS_U8, .key = cs_stream_key(allocator->key, "garbage", id)};
}

static struct cs_content byte_content(uint8_t byte) {
    return (struct cs_content){.kind = CS_CONTENT_VALUE, .as = CS_U8, .key = byte};
}

/* Integers and e2m1 have no NaN, and memory of no whole number of elements has an end that none covers: ones. */
static struct cs_content nan_content(size_t bytes, enum cs_dtype dtype) {
    struct cs_content content = {.kind = CS_CONTENT_VALUE, .as = dtype};
    bool is_whole = cs_dtype_bits(dtype) < 8 || bytes % ((size_t)cs_dtype_bits(dtype) / 8) == 0;
    if (!cs_dtype_is_floating(dtype) || !is_whole || cs_dtype_encode(dtype, NAN, &content.key) != CS_OK)
        return byte_content(0xFF);
    return content;
}

static struct cs_content pattern_content(const struct cs_allocator *allocator, const struct cs_pattern *pattern,
                                         const struct cs_storage *storage, enum cs_dtype dtype) {
    switch (pattern->kind) {
    case CS_PATTERN_RANDOM:
        return garbage_content(allocator, storage->id);
    case CS_PATTERN_NAN:
        return nan_content(storage->bytes, dtype);
    case CS_PATTERN_BYTE:
        break;
    }
    return byte_content(pattern->byte);
}

/* ---- size classes ---- */

static uint64_t class_limit(const struct cs_allocator_rule *rule, uint64_t bytes) {
    for (size_t i = 0; i < rule->n_classes; i++)
        if (bytes <= rule->class_limit[i]) return rule->class_limit[i];
    return bytes;
}

/* NULL when out of memory. */
static struct cs_size_class *find_class(struct cs_allocator *allocator, uint64_t limit) {
    for (struct cs_size_class *c = allocator->classes; c; c = c->next)
        if (c->limit == limit) return c;
    struct cs_size_class *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    *made = (struct cs_size_class){.next = allocator->classes, .limit = limit};
    allocator->classes = made;
    return made;
}

/* The free block of the class that was freed last and is large enough, or NULL. */
static struct cs_block *take_block(struct cs_allocator *allocator, uint64_t limit, size_t bytes) {
    for (struct cs_block **link = &allocator->blocks; *link; link = &(*link)->next) {
        struct cs_block *block = *link;
        if (block->bytes < bytes || class_limit(&allocator->rule, block->bytes) != limit) continue;
        *link = block->next;
        return block;
    }
    return NULL;
}

/* ---- storages ---- */

void cs_allocator_init(struct cs_allocator *allocator, const struct cs_allocator_rule *rule,
                       const struct cs_memory *memory, uint64_t key) {
    assert(rule->n_classes <= CS_SIZE_CLASSES);
    *allocator = (struct cs_allocator){.rule = *rule, .memory = *memory, .key = key, .next_id = 1};
}

static bool add_slab(struct cs_allocator *allocator) {
    struct cs_record_slab *slab = malloc(sizeof *slab);
    if (!slab) return false;
    slab->next = allocator->slabs;
    allocator->slabs = slab;
    for (size_t i = 0; i < SLAB_RECORDS; i++) {
        slab->records[i].next = allocator->spare;
        allocator->spare = &slab->records[i];
    }
    return true;
}

static void spare_record(struct cs_allocator *allocator, struct cs_storage *storage) {
    storage->next = allocator->spare;
    allocator->spare = storage;
}

static enum cs_status new_storage(struct cs_allocator *allocator, enum cs_storage_kind kind, size_t bytes,
                                  const char *label, struct cs_storage **storage) {
    CS_REQUIRE(allocator->spare || add_slab(allocator), CS_NO_MEMORY, "no memory for the record of %s",
               label ? label : "a storage");
    struct cs_storage *made = allocator->spare;
    allocator->spare = made->next;
    *made = (struct cs_storage){.kind = kind, .id = allocator->next_id++, .bytes = bytes, .label = label};
    *storage = made;
    return CS_OK;
}

static void add_storage(struct cs_allocator *allocator, struct cs_storage *storage) {
    storage->next = allocator->storages;
    allocator->storages = storage;
    if (storage->kind != CS_STORAGE_MEMORY) return;
    allocator->bytes_alive += storage->bytes;
    if (allocator->bytes_alive > allocator->bytes_peak) allocator->bytes_peak = allocator->bytes_alive;
}

static void give_memory_back(struct cs_allocator *allocator, void *data, size_t bytes) {
    if (data) allocator->memory.release(allocator->memory.context, data, bytes);
}

/* Memory that holds `content`. */
static enum cs_status new_memory(struct cs_allocator *allocator, struct cs_storage *storage,
                                 const struct cs_content *content) {
    struct cs_memory *memory = &allocator->memory;
    CS_TRY(memory->allocate(memory->context, storage->bytes, &storage->data));
    storage->block_bytes = storage->bytes;
    if (storage->is_result && !allocator->rule.recycled_keeps_bytes) return CS_OK;
    enum cs_status status = memory->write(memory->context, storage, content);
    if (status != CS_OK) give_memory_back(allocator, storage->data, storage->block_bytes);
    return status;
}

static enum cs_status fresh_memory(struct cs_allocator *allocator, struct cs_storage *storage, enum cs_dtype dtype) {
    const struct cs_allocator_rule *rule = &allocator->rule;
    const struct cs_pattern *pattern = allocator->phase == CS_PHASE_COLD ? &rule->fresh_cold : &rule->fresh_reload;
    struct cs_content content = pattern_content(allocator, pattern, storage, dtype);
    storage->origin = CS_ORIGIN_FRESH;
    return new_memory(allocator, storage, &content);
}

static enum cs_status recycled_memory(struct cs_allocator *allocator, struct cs_storage *storage) {
    struct cs_content content = garbage_content(allocator, storage->id);
    storage->origin = CS_ORIGIN_RECYCLED;
    return new_memory(allocator, storage, &content);
}

static void adopt_block(struct cs_storage *storage, struct cs_block *block) {
    storage->origin = CS_ORIGIN_STALE;
    storage->data = block->data;
    storage->block_bytes = block->bytes;
    free(block);
}

static enum cs_status reload_memory(struct cs_allocator *allocator, struct cs_storage *storage, enum cs_dtype dtype) {
    const struct cs_allocator_rule *rule = &allocator->rule;
    uint64_t limit = class_limit(rule, storage->bytes);
    struct cs_size_class *class = find_class(allocator, limit);
    CS_REQUIRE(class, CS_NO_MEMORY, "no memory for a size class of %" PRIu64 " bytes", limit);
    if (storage->bytes <= rule->recycle_up_to && class->n_fresh >= rule->fresh_first) {
        if (!rule->recycled_keeps_bytes) return recycled_memory(allocator, storage);
        struct cs_block *block = take_block(allocator, limit, storage->bytes);
        if (block) {
            adopt_block(storage, block);
            return CS_OK;
        }
    }
    CS_TRY(fresh_memory(allocator, storage, dtype));
    class->n_fresh++;
    return CS_OK;
}

static enum cs_status get_memory(struct cs_allocator *allocator, struct cs_storage *storage, enum cs_dtype dtype) {
    if (storage->bytes == 0) return CS_OK;
    return allocator->phase == CS_PHASE_COLD ? fresh_memory(allocator, storage, dtype)
                                             : reload_memory(allocator, storage, dtype);
}

static enum cs_status allocate(struct cs_allocator *allocator, size_t bytes, enum cs_dtype dtype, bool is_result,
                               const char *label, struct cs_storage **storage) {
    struct cs_storage *made = NULL;
    size_t total;
    CS_REQUIRE(!__builtin_add_overflow(allocator->bytes_alive, bytes, &total), CS_NO_MEMORY,
               "no memory for %zu bytes of %s", bytes, label ? label : "a storage");
    CS_TRY(new_storage(allocator, CS_STORAGE_MEMORY, bytes, label, &made));
    made->is_result = is_result;
    enum cs_status status = get_memory(allocator, made, dtype);
    if (status != CS_OK) {
        spare_record(allocator, made);
        return status;
    }
    add_storage(allocator, made);
    *storage = made;
    return CS_OK;
}

enum cs_status cs_allocate(struct cs_allocator *allocator, size_t bytes, enum cs_dtype dtype, const char *label,
                           struct cs_storage **storage) {
    return allocate(allocator, bytes, dtype, false, label, storage);
}

enum cs_status cs_allocate_result(struct cs_allocator *allocator, size_t bytes, enum cs_dtype dtype, const char *label,
                                  struct cs_storage **storage) {
    return allocate(allocator, bytes, dtype, true, label, storage);
}

enum cs_status cs_allocate_kind(struct cs_allocator *allocator, enum cs_storage_kind kind, size_t bytes,
                                const struct cs_content *content, const void *data, const char *label,
                                struct cs_storage **storage) {
    assert(kind != CS_STORAGE_MEMORY);
    CS_TRY(new_storage(allocator, kind, bytes, label, storage));
    if (kind == CS_STORAGE_HOST) (*storage)->data = (void *)(uintptr_t)data; /* read only, whatever the type says */
    if (kind == CS_STORAGE_SYNTHETIC) (*storage)->content = *content;
    add_storage(allocator, *storage);
    return CS_OK;
}

/* ---- exchange ---- */

static bool is_exchangeable(const struct cs_storage *storage) {
    return storage->kind == CS_STORAGE_MEMORY && !storage->is_captured && !storage->is_abandoned && !storage->n_holders;
}

bool cs_allocator_exchange(const struct cs_allocator *allocator, struct cs_storage *a, struct cs_storage *b) {
    bool is_told = !is_exchangeable(a) || !is_exchangeable(b) || a->bytes != b->bytes ||
                   a->block_bytes != b->block_bytes || allocator->rule.recycled_keeps_bytes;
    if (is_told) return false;
    void *data = a->data;
    a->data = b->data;
    b->data = data;
    return true;
}

/* ---- freeing ---- */

/* False when the memory is of no use to a later request. */
static bool keep_block(struct cs_allocator *allocator, struct cs_storage *storage) {
    const struct cs_allocator_rule *rule = &allocator->rule;
    if (!rule->recycled_keeps_bytes || storage->bytes > rule->recycle_up_to) return false;
    struct cs_block *block = calloc(1, sizeof *block);
    if (!block) return false;
    *block = (struct cs_block){.next = allocator->blocks, .data = storage->data, .bytes = storage->block_bytes};
    allocator->blocks = block;
    return true;
}

static void free_storage(struct cs_allocator *allocator, struct cs_storage *storage) {
    if (storage->kind == CS_STORAGE_MEMORY) {
        if (!storage->is_abandoned) allocator->bytes_alive -= storage->bytes;
        if (storage->data && !keep_block(allocator, storage))
            give_memory_back(allocator, storage->data, storage->block_bytes);
    }
    if (storage->kind == CS_STORAGE_HOST && storage->owns_data) free(storage->data);
    spare_record(allocator, storage);
}

/* Whoever gets the block next writes into it; a graph that still reads there sees that. A device that cannot write now
 * will say so at the next operation. */
static void abandon(struct cs_allocator *allocator, struct cs_storage *storage) {
    struct cs_content garbage = garbage_content(allocator, storage->id);
    if (storage->is_abandoned) return;
    storage->is_abandoned = true;
    allocator->bytes_alive -= storage->bytes;
    if (storage->bytes) (void)allocator->memory.write(allocator->memory.context, storage, &garbage);
}

void cs_allocator_sweep(struct cs_allocator *allocator) {
    struct cs_storage **link = &allocator->storages;
    while (*link) {
        struct cs_storage *storage = *link;
        if (storage->is_reachable) {
            storage->is_reachable = false;
            link = &storage->next;
        } else if (storage->is_captured) {
            abandon(allocator, storage);
            link = &storage->next;
        } else {
            *link = storage->next;
            free_storage(allocator, storage);
        }
    }
}

static void drop_blocks(struct cs_allocator *allocator) {
    while (allocator->blocks) {
        struct cs_block *block = allocator->blocks;
        allocator->blocks = block->next;
        give_memory_back(allocator, block->data, block->bytes);
        free(block);
    }
}

enum cs_status cs_allocator_discard(struct cs_allocator *allocator) {
    const struct cs_allocator_rule *rule = &allocator->rule;
    const struct cs_pattern *pattern = allocator->phase == CS_PHASE_COLD ? &rule->fresh_cold : &rule->fresh_reload;
    drop_blocks(allocator);
    for (struct cs_storage *storage = allocator->storages; storage; storage = storage->next) {
        if (storage->kind != CS_STORAGE_MEMORY || !storage->bytes) continue;
        struct cs_content content = pattern_content(allocator, pattern, storage, CS_U8);
        storage->origin = CS_ORIGIN_FRESH;
        CS_TRY(allocator->memory.write(allocator->memory.context, storage, &content));
    }
    return CS_OK;
}

void cs_allocator_close(struct cs_allocator *allocator) {
    for (struct cs_storage *storage = allocator->storages; storage; storage = storage->next)
        storage->is_reachable = storage->is_captured = false;
    cs_allocator_sweep(allocator);
    drop_blocks(allocator);
    while (allocator->classes) {
        struct cs_size_class *class = allocator->classes;
        allocator->classes = class->next;
        free(class);
    }
    allocator->spare = NULL;
    while (allocator->slabs) {
        struct cs_record_slab *slab = allocator->slabs;
        allocator->slabs = slab->next;
        free(slab);
    }
}
