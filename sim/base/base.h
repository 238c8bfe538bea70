/* Ground floor: status and messages, an arena, hashes, text, files. Knows nothing of weights.
 *
 * Errors. Everything that can fail because of the outside world (files, scripts, arguments, memory, devices) returns
 * `enum cs_status`; the text that goes with it waits in `cs_error_text()`, one per thread like errno, until the next
 * failure of that thread replaces it. Programmer errors assert.
 *
 * Memory. An arena hands out zeroed memory and frees all of it at once; nothing is freed singly. A child that lives
 * shorter gets an arena of its own. */
#ifndef CS_BASE_H
#define CS_BASE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What went wrong, as the class a caller may act on; `conform` compares these with the classes of captured exceptions.
 *    id            name            meaning */
#define CS_STATUSES(X)                                                                                                 \
    X(OK,          "ok")          /* nothing */                                                                        \
    X(BAD_USAGE,   "usage")       /* command line */                                                                   \
    X(BAD_SCRIPT,  "script")      /* Lua scenario */                                                                   \
    X(BAD_FILE,    "file")        /* a file's content or a path */                                                     \
    X(BAD_SHAPE,   "shape")       /* sizes that do not fit each other */                                               \
    X(BAD_INDEX,   "index")       /* a position outside of what exists */                                              \
    X(BAD_VALUE,   "value")       /* a number or name outside of what is allowed */                                    \
    X(BAD_TYPE,    "type")        /* a dtype or kind of thing */                                                       \
    X(UNSUPPORTED, "unsupported") /* nobody implements it here (R8.4) */                                               \
    X(REFUSED,     "refused")     /* the real engine refuses it too (R8.4) */                                          \
    X(NO_MEMORY,   "memory")                                                                                           \
    X(INTERNAL,    "internal")

enum cs_status {
#define X(id, name) CS_##id,
    CS_STATUSES(X)
#undef X
};

/* The name above: "shape", "index", … */
const char *cs_status_name(enum cs_status status);

/* Keeps a printf-style message for this thread and returns `status`, so that failing is one statement. Messages longer
 * than 2047 bytes are cut. The arguments may include the previous `cs_error_text()`. */
enum cs_status cs_fail(enum cs_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The message of this thread's latest failure; "" before the first. */
const char *cs_error_text(void);

#define CS_REQUIRE(condition, status, ...)                                                                             \
    do {                                                                                                               \
        if (!(condition)) return cs_fail((status), __VA_ARGS__);                                                       \
    } while (0)

#define CS_TRY(call)                                                                                                   \
    do {                                                                                                               \
        enum cs_status try_status_ = (call);                                                                           \
        if (try_status_ != CS_OK) return try_status_;                                                                  \
    } while (0)

/* ---- arena ---- */

struct cs_arena {
    struct cs_arena_chunk *chunks; /* newest first */
    size_t used, capacity;         /* of the newest chunk */
    bool has_failed;               /* a request was refused: texts made since may be NULL or shortened */
};

/* Zeroed memory, aligned for any type; NULL when out of memory or when `count * size` overflows. */
void *cs_arena_alloc(struct cs_arena *arena, size_t count, size_t size);
#define CS_NEW(arena, type) ((type *)cs_arena_alloc((arena), 1, sizeof(type)))
#define CS_NEW_ARRAY(arena, type, count) ((type *)cs_arena_alloc((arena), (count), sizeof(type)))

/* printf into the arena; NULL when out of memory. */
char *cs_arena_format(struct cs_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *cs_arena_text(struct cs_arena *arena, const char *text);

/* Frees everything; the arena is then empty and may be used again. */
void cs_arena_release(struct cs_arena *arena);

/* CS_NO_MEMORY when `status` is CS_OK but the arena refused a request on the way there: for work whose single texts nobody
 * checks, before its result is used. */
enum cs_status cs_arena_checked(const struct cs_arena *arena, enum cs_status status);

/* Forgets everything and keeps the largest chunk: the next allocations need nothing from libc. */
void cs_arena_rewind(struct cs_arena *arena);

/* Appends room for one element to an arena array: doubles `*items` when `count` reaches `*capacity`.
 * Returns the new element, zeroed, or NULL when out of memory. The caller increments its count. */
void *cs_arena_grow(struct cs_arena *arena, void **items, size_t count, size_t *capacity, size_t size);

/* ---- hashes and random streams ---- */

uint32_t cs_fnv1a32(const char *text);
#define CS_FNV1A64_START UINT64_C(0xcbf29ce484222325)
uint64_t cs_fnv1a64(uint64_t state, const void *bytes, size_t size);

/* One round of a 64-bit finaliser (Stafford's mix 13): every input bit reaches every output bit. */
static inline uint64_t cs_mix64(uint64_t x) {
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Key of a named stream below a seed: streams of different names are independent, whoever asks first. */
uint64_t cs_stream_key(uint64_t seed, const char *name, uint64_t index);

/* ---- text ---- */

bool cs_text_equal(const char *a, const char *b);
/* Shell-like pattern: `*` matches any run, dots included; every other character itself. */
bool cs_text_matches(const char *pattern, const char *text);
/* Number of edits between two words, for "did you mean". */
size_t cs_text_distance(const char *a, const char *b);
/* The one of `names` (n of them) nearest to `word`, if near enough to be a slip of the pen; else NULL. */
const char *cs_text_nearest(const char *word, const char *const *names, size_t n);
/* "64MiB", "1 KiB", "512" → bytes. CS_BAD_VALUE for anything else, negative or ≥ 2^63. */
enum cs_status cs_text_bytes(const char *text, uint64_t *bytes);
/* Length in bytes of the longest prefix of `text` of at most `n` bytes that does not end inside a UTF-8 character. */
size_t cs_text_cut(const char *text, size_t n);
/* Each byte that is no part of a UTF-8 character (RFC 3629: no surrogates, nothing longer than needed) becomes '?'. */
void cs_text_make_valid(char *text);

/* ---- files ----
 * Written to a temporary name beside `path` and renamed, so that a failed write leaves the old file, or none. A link
 * stays one, and what is no regular file (a device, a pipe) is written in place; "-" is stdout. The last line gets its
 * newline if it has none. CS_INTERNAL, with the reason, when the file cannot be made or written; CS_NO_MEMORY. */

enum cs_status cs_write_text(const char *path, const char *text);
/* What writing to `path` would say already now, as far as can be told without writing: ask before long work. */
enum cs_status cs_write_check(const char *path);

struct json_t;
/* A JSON string of `text`, in which bytes that are not UTF-8 became '?' (file names need not be UTF-8, and a strange one
 * must not cost a report). NULL: no memory. The caller owns it. */
struct json_t *cs_json_text(const char *text);
/* `flags` as jansson's json_dumps takes them; a NULL `object` is CS_NO_MEMORY. The caller keeps `object`. */
enum cs_status cs_write_json(const char *path, const struct json_t *object, size_t flags);
/* Opens a file on disk; `file` is the caller's to close, NULL after a failure. CS_BAD_FILE: it cannot be read, with the
 * system's reason, or is a device or a pipe, which might never end. */
enum cs_status cs_open_to_read(const char *path, FILE **file);
/* The JSON of a file; no key twice. `root` is the caller's. CS_BAD_FILE: as cs_open_to_read, or it is no JSON, with its
 * line. */
enum cs_status cs_read_json(const char *path, struct json_t **root);

/* What `writer` puts into a stream; nothing is written when it fails. */
typedef enum cs_status cs_writer(FILE *out, const void *what);
enum cs_status cs_write_with(const char *path, cs_writer *writer, const void *what);

/* Non-negative a * b, or false when it exceeds INT64_MAX. */
static inline bool cs_multiply(int64_t a, int64_t b, int64_t *product) {
    return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, product);
}

#define CS_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
