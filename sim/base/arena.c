#include "sim/base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunks double from 4 KiB so that a toy scenario costs one malloc and a large one a handful. */
struct cs_arena_chunk {
    struct cs_arena_chunk *next;
    max_align_t bytes[];
};

enum { FIRST_CHUNK = 4096, ALIGNMENT = _Alignof(max_align_t) };

static bool add_chunk(struct cs_arena *arena, size_t bytes) {
    size_t capacity = arena->capacity < FIRST_CHUNK ? FIRST_CHUNK : arena->capacity;
    if (capacity < SIZE_MAX / 4 && capacity < (size_t)64 << 20) capacity *= 2;
    if (capacity < bytes) capacity = bytes;
    struct cs_arena_chunk *chunk = malloc(sizeof *chunk + capacity);
    if (!chunk) return false;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->capacity = capacity;
    arena->used = 0;
    return true;
}

static void *refuse(struct cs_arena *arena) {
    arena->has_failed = true;
    return NULL;
}

void *cs_arena_alloc(struct cs_arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4) return refuse(arena);
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    bool fits = arena->chunks && arena->capacity - arena->used >= bytes;
    if (!fits && !add_chunk(arena, bytes)) return refuse(arena);
    void *memory = (char *)arena->chunks->bytes + arena->used;
    arena->used += bytes;
    return memset(memory, 0, bytes);
}

char *cs_arena_format(struct cs_arena *arena, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : cs_arena_alloc(arena, (size_t)length + 1, 1);
    if (text) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *cs_arena_text(struct cs_arena *arena, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = cs_arena_alloc(arena, bytes, 1);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

enum cs_status cs_arena_checked(const struct cs_arena *arena, enum cs_status status) {
    CS_REQUIRE(status != CS_OK || !arena->has_failed, CS_NO_MEMORY, "out of memory for texts");
    return status;
}

void cs_arena_release(struct cs_arena *arena) {
    struct cs_arena_chunk *next;
    for (struct cs_arena_chunk *chunk = arena->chunks; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    *arena = (struct cs_arena){0};
}

void cs_arena_rewind(struct cs_arena *arena) {
    struct cs_arena_chunk *newest = arena->chunks; /* chunks double: the newest is the largest, or was asked for alone */
    if (!newest) return;
    while (newest->next) {
        struct cs_arena_chunk *older = newest->next;
        newest->next = older->next;
        free(older);
    }
    arena->used = 0;
}

void *cs_arena_grow(struct cs_arena *arena, void **items, size_t count, size_t *capacity, size_t size) {
    if (count == *capacity) {
        size_t wider = *capacity ? *capacity * 2 : 8;
        void *moved = cs_arena_alloc(arena, wider, size);
        if (!moved) return NULL;
        if (count) memcpy(moved, *items, count * size);
        *items = moved;
        *capacity = wider;
    }
    return (char *)*items + count * size;
}
