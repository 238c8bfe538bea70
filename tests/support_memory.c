#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support_memory.h"
#include "tests/support_session.h"

/* ---- memory that runs out ---- */

enum { MOST_REQUESTS = 1 << 17, MOST_BLOCKS = 1 << 14 };

static struct {
    bool is_counting;
    size_t n, fails_at; /* 0: never */
    void *place[MOST_REQUESTS]; /* in the code, of every request of the run that records */
    bool is_recording;
    size_t n_blocks; /* of malloc and the like, not freed yet */
    void *blocks[MOST_BLOCKS];
} memory;

static bool is_refused(void *place) {
    if (!memory.is_counting) return false;
    if (memory.is_recording && memory.n < MOST_REQUESTS) memory.place[memory.n] = place;
    return ++memory.n == memory.fails_at;
}

static void *kept(void *block) {
    if (!memory.is_counting || !block) return block;
    if (memory.n_blocks == MOST_BLOCKS) abort();
    memory.blocks[memory.n_blocks++] = block;
    return block;
}

static void forget(const void *block) {
    for (size_t i = memory.n_blocks; i-- > 0;) {
        if (memory.blocks[i] != block) continue;
        memory.blocks[i] = memory.blocks[--memory.n_blocks];
        return;
    }
}

#define HERE __builtin_return_address(0)

void *__real_malloc(size_t), *__wrap_malloc(size_t);
void *__wrap_malloc(size_t size) { return is_refused(HERE) ? NULL : kept(__real_malloc(size)); }
void *__real_calloc(size_t, size_t), *__wrap_calloc(size_t, size_t);
void *__wrap_calloc(size_t n, size_t size) { return is_refused(HERE) ? NULL : kept(__real_calloc(n, size)); }
void *__real_realloc(void *, size_t), *__wrap_realloc(void *, size_t);
void *__wrap_realloc(void *block, size_t size) {
    if (is_refused(HERE)) return NULL;
    forget(block);
    return kept(__real_realloc(block, size));
}
int __real_posix_memalign(void **, size_t, size_t), __wrap_posix_memalign(void **, size_t, size_t);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size) {
    if (is_refused(HERE)) return 12; /* ENOMEM */
    int failed = __real_posix_memalign(block, alignment, size);
    if (!failed) kept(*block);
    return failed;
}
void __real_free(void *), __wrap_free(void *);
void __wrap_free(void *block) {
    if (block) forget(block);
    __real_free(block);
}
/* As the arena itself does it. */
static void *refuse(struct cs_arena *arena) {
    arena->has_failed = true;
    return NULL;
}
void *__real_cs_arena_alloc(struct cs_arena *, size_t, size_t), *__wrap_cs_arena_alloc(struct cs_arena *, size_t, size_t);
void *__wrap_cs_arena_alloc(struct cs_arena *arena, size_t n, size_t size) {
    return is_refused(HERE) ? refuse(arena) : __real_cs_arena_alloc(arena, n, size);
}
void *__real_cs_arena_grow(struct cs_arena *, void **, size_t, size_t *, size_t);
void *__wrap_cs_arena_grow(struct cs_arena *, void **, size_t, size_t *, size_t);
void *__wrap_cs_arena_grow(struct cs_arena *arena, void **items, size_t n, size_t *capacity, size_t size) {
    return is_refused(HERE) ? refuse(arena) : __real_cs_arena_grow(arena, items, n, capacity, size);
}
char *__real_cs_arena_text(struct cs_arena *, const char *), *__wrap_cs_arena_text(struct cs_arena *, const char *);
char *__wrap_cs_arena_text(struct cs_arena *arena, const char *text) {
    return is_refused(HERE) ? refuse(arena) : __real_cs_arena_text(arena, text);
}
char *__wrap_cs_arena_format(struct cs_arena *, const char *, ...) __attribute__((format(printf, 2, 3)));
char *__wrap_cs_arena_format(struct cs_arena *arena, const char *format, ...) {
    if (is_refused(HERE)) return refuse(arena);
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t size = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
    char *text = __real_cs_arena_alloc(arena, size, 1);
    if (text) vsnprintf(text, size, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

/* ---- one piece of work ---- */

enum cs_status run_with(const struct work *work, size_t fails_at, char *result) {
    struct cs_arena arena = {0};
    memory.n = 0, memory.fails_at = fails_at, memory.is_recording = !fails_at;
    memory.is_counting = true;
    *result = 0;
    enum cs_status status = work->run(work, &arena, result);
    cs_arena_release(&arena);
    memory.is_counting = false;
    if (memory.n_blocks) fail_msg("request %zu refused: %zu blocks were not freed", fails_at, memory.n_blocks);
    return status;
}

/* Places are hit over and over: of each, the first requests, the last one, and some between are refused. */
static bool is_worth_it(size_t request, size_t n) {
    enum { EACH = 6 };
    size_t before = 0, after = 0;
    for (size_t i = 0; i < n; i++) {
        if (memory.place[i] != memory.place[request]) continue;
        before += i < request;
        after += i > request;
    }
    return before < EACH || after == 0 || (before & (before - 1)) == 0;
}

void every_request_may_fail(const struct work *work) {
    static char enough[RESULT], found[RESULT];
    struct cs_arena arena = {0};
    assert_ok(work->run(work, &arena, enough)); /* what a device allocates once and keeps is there from now on */
    cs_arena_release(&arena);
    assert_ok(run_with(work, 0, enough));
    size_t n = memory.n, n_refused = 0;
    if (n == 0 || n >= MOST_REQUESTS) fail_msg("%zu requests", n);
    for (size_t i = 0; i < n; i++) {
        if (!is_worth_it(i, n)) continue;
        enum cs_status status = run_with(work, i + 1, found);
        if (status == CS_OK && strcmp(found, enough) == 0) continue;
        if (status != CS_NO_MEMORY)
            fail_msg("request %zu of %zu refused: status %s, \"%s\", expected memory, or \"%s\"\n%s", i + 1, n, cs_status_name(status), found,
                     enough, cs_error_text());
        n_refused++;
    }
    assert_true(n_refused > n / 50); /* requests that do not matter are the exception */
}
