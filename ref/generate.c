#include "ref/ref.h"
#include "ref/walk.h"
#include "ref/wide.h"

/* What the elements of a run are made from. HASH, PATTERN and DIGIT first make a byte, of which the element is a
 * function: the table. GARBAGE, and HASH of the common dtypes, are made many at a time where a run is dense. */
struct job {
    unsigned char *base;
    struct cs_content content; /* pairs of e2m1 appear as u8 */
    int bits;
    bool makes_words;
    struct cs_ref_set set; /* ZERO and VALUE */
    uint64_t element_of[256];
};

/* ---- a byte made a number ---- */

/* The bits of a value that every floating dtype of 16 bits or more holds exactly: 8 significant bits, and |value|
 * either 0 or from 2^-6 to 255. */
static uint64_t exact_bits(enum cs_dtype dtype, double value) {
    float single = (float)value;
    uint64_t wide = 0;
    memcpy(&wide, dtype == CS_F64 ? (const void *)&value : (const void *)&single, dtype == CS_F64 ? 8 : 4);
    if (dtype == CS_BF16) return wide >> 16;
    if (dtype != CS_F16) return wide;
    uint64_t sign = wide >> 16 & 0x8000, magnitude = wide & 0x7FFFFFFF;
    return magnitude ? sign | ((magnitude >> 13) - ((127 - 15) << 10)) : sign;
}

static bool is_wide_float(enum cs_dtype dtype) { return cs_dtype_is_floating(dtype) && cs_dtype_bits(dtype) >= 16; }

static uint64_t sane(enum cs_dtype dtype, unsigned byte) {
    if (is_wide_float(dtype)) return exact_bits(dtype, ((int)byte - 128) / 64.0);
    if (dtype == CS_E8M0) return 120 + byte % 8;
    if (dtype == CS_E4M3 && (byte & 0x7F) == 0x7F) return byte - 8;
    if (dtype == CS_E5M2 && (byte & 0x7C) == 0x7C) return byte - 0x40;
    return byte;
}

static void make_table(struct job *job) {
    enum cs_dtype as = job->content.as;
    bool is_digit = job->content.kind == CS_CONTENT_DIGIT;
    for (unsigned byte = 0; byte < 256; byte++)
        job->element_of[byte] = !is_digit           ? sane(as, (byte + job->content.shift) & 0xFF)
                                : is_wide_float(as) ? exact_bits(as, byte)
                                                    : byte;
}

/* ---- element by element ---- */

static unsigned hash_byte(uint64_t key, uint64_t i) { return (unsigned)(cs_mix64(key + i / 8) >> (i % 8 * 8) & 0xFF); }

static unsigned byte_of(const struct cs_content *content, uint64_t i) {
    switch (content->kind) {
    case CS_CONTENT_HASH:
        return hash_byte(content->key, i);
    case CS_CONTENT_PATTERN:
        return (uint32_t)((uint32_t)(i + content->key) * UINT32_C(2654435761)) >> 24;
    default:
        return content->shift < 8 ? (unsigned)((i + content->key) >> (8 * content->shift) & 0xFF) : 0;
    }
}

static uint64_t element(const struct job *job, uint64_t i) {
    if (job->content.kind == CS_CONTENT_GARBAGE) {
        uint64_t in_word = 64 / (uint64_t)job->bits;
        return cs_mix64(job->content.key + i / in_word) >> (i % in_word * (uint64_t)job->bits);
    }
    if (job->bits != 4) return job->element_of[byte_of(&job->content, i)];
    /* One of a pair that the walk could not keep together. */
    return job->element_of[byte_of(&job->content, i / 2)] >> (i % 2 * 4);
}

static inline __attribute__((always_inline)) void generate_strided(const struct cs_ref_run *run, const struct job *job,
                                                                   int bits) {
    int64_t to = run->position[0], from = run->position[1];
    for (int64_t i = 0; i < run->n; i++, to += run->stride[0], from += run->stride[1])
        cs_ref_store(job->base, bits, to, element(job, (uint64_t)from));
}

/* HASH read densely: eight elements from each mixed word. */
static inline __attribute__((always_inline)) void hash_strided(const struct cs_ref_run *run, const struct job *job,
                                                               int bits) {
    int64_t to = run->position[0], step = run->stride[0], i = 0;
    uint64_t from = (uint64_t)run->position[1];
    for (; i < run->n && (from + (uint64_t)i) % 8; i++)
        cs_ref_store(job->base, bits, to + i * step, element(job, from + (uint64_t)i));
    for (; i + 8 <= run->n; i += 8) {
        uint64_t word = cs_mix64(job->content.key + (from + (uint64_t)i) / 8);
        for (int64_t j = 0; j < 8; j++)
            cs_ref_store(job->base, bits, to + (i + j) * step, job->element_of[word >> (8 * j) & 0xFF]);
    }
    for (; i < run->n; i++) cs_ref_store(job->base, bits, to + i * step, element(job, from + (uint64_t)i));
}

/* ---- word by word ---- */

#define EVERY_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight bytes of a word, each plus that of `add` modulo 256. */
static inline uint64_t add_bytes(uint64_t word, uint64_t add) {
    const uint64_t low = EVERY_BYTE(0x7F);
    return ((word & low) + (add & low)) ^ ((word ^ add) & ~low);
}

/* sane() of eight bytes at once. */
static inline __attribute__((always_inline)) uint64_t sane_bytes(enum cs_dtype dtype, uint64_t word) {
    const uint64_t high = EVERY_BYTE(0x80);
    if (dtype == CS_E8M0) return EVERY_BYTE(120) + (word & EVERY_BYTE(7));
    if (dtype == CS_E4M3) return word & ~((((word & EVERY_BYTE(0x7F)) + EVERY_BYTE(1)) & high) >> 4);
    if (dtype == CS_E5M2) return word & ~((((word & EVERY_BYTE(0x7C)) + EVERY_BYTE(4)) & high) >> 1);
    return word;
}

/* n words of random bits, and n words of sane numbers of each dtype. */
CS_REF_LOOP garbage_words_loop(cs_ref_word *words, size_t n, uint64_t key) {
#pragma omp simd
    for (size_t w = 0; w < n; w++) words[w] = cs_mix64(key + w);
}
CS_REF_WIDE(garbage_words, (cs_ref_word * words, size_t n, uint64_t key), (words, n, key))

/* clang-format off */
#define HASH_WORDS(name, dtype)                                                                                        \
    CS_REF_LOOP name##_loop(cs_ref_word *words, size_t n, uint64_t key, uint64_t add) {                                \
        _Pragma("omp simd") for (size_t w = 0; w < n; w++) words[w] =                                                  \
            sane_bytes(dtype, add_bytes(cs_mix64(key + w), add));                                                      \
    }                                                                                                                  \
    CS_REF_WIDE(name, (cs_ref_word *words, size_t n, uint64_t key, uint64_t add), (words, n, key, add))
/* clang-format on */
HASH_WORDS(u8_words, CS_U8)
HASH_WORDS(e8m0_words, CS_E8M0)
HASH_WORDS(e4m3_words, CS_E4M3)
HASH_WORDS(e5m2_words, CS_E5M2)

/* Words `index` … of the content. */
static void make_words(const struct job *job, cs_ref_word *words, size_t n, uint64_t index) {
    uint64_t key = job->content.key + index, add = EVERY_BYTE(job->content.shift & 0xFF);
    if (job->content.kind == CS_CONTENT_GARBAGE)
        garbage_words(words, n, key);
    else if (job->content.as == CS_E8M0)
        e8m0_words(words, n, key, add);
    else if (job->content.as == CS_E4M3)
        e4m3_words(words, n, key, add);
    else if (job->content.as == CS_E5M2)
        e5m2_words(words, n, key, add);
    else
        u8_words(words, n, key, add);
}

/* ---- HASH of floating dtypes of 16 and 32 bits: bytes first, a number of each then ---- */

static inline uint32_t f32_of_byte(unsigned char byte) {
    float value = (float)((int)byte - 128) * 0x1p-6f; /* exact, whoever computes it */
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static inline uint16_t bf16_of_byte(unsigned char byte) { return (uint16_t)(f32_of_byte(byte) >> 16); }

/* clang-format off */
#define NUMBERS(name, type, number_of)                                                                                 \
    typedef type name##_type __attribute__((aligned(1), may_alias));                                                   \
    CS_REF_LOOP name##_loop(name##_type *numbers, const unsigned char *bytes, size_t n) {                              \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++) numbers[i] = number_of(bytes[i]);                           \
    }                                                                                                                  \
    CS_REF_WIDE(name, (name##_type * numbers, const unsigned char *bytes, size_t n), (numbers, bytes, n))
/* clang-format on */
NUMBERS(bf16_numbers, uint16_t, bf16_of_byte)
NUMBERS(f32_numbers, uint32_t, f32_of_byte)

static bool makes_numbers(const struct job *job) {
    return job->content.kind == CS_CONTENT_HASH && (job->content.as == CS_BF16 || job->content.as == CS_F32);
}

static void generate_numbers(const struct cs_ref_run *run, const struct job *job) {
    enum { WORDS = 256 };
    cs_ref_word words[WORDS];
    unsigned char *to = job->base + run->position[0] * (job->bits / 8);
    for (size_t done = 0, left = (size_t)run->n, n; left; done += n, left -= n) {
        uint64_t from = (uint64_t)run->position[1] + done, skip = from % 8;
        n = WORDS * 8 - skip < left ? WORDS * 8 - skip : left;
        make_words(job, words, (skip + n + 7) / 8, from / 8);
        const unsigned char *bytes = (const unsigned char *)words + skip;
        if (job->bits == 16)
            bf16_numbers((bf16_numbers_type *)(void *)(to + 2 * done), bytes, n);
        else
            f32_numbers((f32_numbers_type *)(void *)(to + 4 * done), bytes, n);
    }
}

/* ---- words and parts of them ---- */

/* Bytes [byte, byte + n) of the content, all in one word. */
static void make_part(const struct job *job, unsigned char *to, uint64_t byte, size_t n) {
    cs_ref_word word;
    if (n == 0) return;
    make_words(job, &word, 1, byte / 8);
    memcpy(to, (unsigned char *)&word + byte % 8, n);
}

static void generate_words(const struct cs_ref_run *run, const struct job *job) {
    size_t size = (size_t)job->bits / 8, left = (size_t)run->n * size;
    unsigned char *to = job->base + run->position[0] * (int64_t)size;
    uint64_t byte = (uint64_t)run->position[1] * size;
    size_t head = (8 - byte % 8) % 8;
    if (head > left) head = left;
    make_part(job, to, byte, head);
    to += head, byte += head, left -= head;
    make_words(job, (cs_ref_word *)(void *)to, left / 8, byte / 8);
    make_part(job, to + left / 8 * 8, byte + left / 8 * 8, left % 8);
}

/* ---- the operation ---- */

static void generate_run(const struct cs_ref_run *run, const void *context, struct cs_ref_tally *tally) {
    const struct job *job = context;
    (void)tally;
    if (job->content.kind == CS_CONTENT_ZERO || job->content.kind == CS_CONTENT_VALUE)
        cs_ref_set_run(run, &job->set);
    else if (job->makes_words && cs_ref_is_dense(run, 2))
        generate_words(run, job);
    else if (makes_numbers(job) && cs_ref_is_dense(run, 2))
        generate_numbers(run, job);
    else if (job->content.kind == CS_CONTENT_HASH && job->bits >= 8 && run->stride[1] == 1)
        CS_REF_BY_WIDTH(job->bits, hash_strided, run, job);
    else
        CS_REF_BY_WIDTH(job->bits, generate_strided, run, job);
}

static void begin(struct job *job, const struct cs_ref_walk *walk) {
    struct cs_content *content = &job->content;
    bool is_garbage = content->kind == CS_CONTENT_GARBAGE, is_hash = content->kind == CS_CONTENT_HASH;
    if (content->as == CS_E2M1) content->as = CS_U8;
    if (walk->is_paired && content->kind == CS_CONTENT_VALUE) content->key = (content->key & 0xF) * 0x11;
    job->bits = walk->bits;
    job->set = cs_ref_set_of(job->base, walk, content->kind == CS_CONTENT_VALUE ? content->key : 0);
    job->makes_words = walk->bits >= 8 && (is_garbage || (is_hash && walk->bits == 8));
    if (is_hash || content->kind == CS_CONTENT_PATTERN || content->kind == CS_CONTENT_DIGIT) make_table(job);
}

enum cs_status cs_ref_generate(const struct cs_device *device, const struct cs_view *destination,
                               const struct cs_view *source) {
    (void)device;
    struct cs_ref_walk walk = cs_ref_walk_of(destination, source);
    struct job job = {.base = destination->storage->data, .content = source->storage->content};
    begin(&job, &walk);
    cs_ref_walk_visit(&walk, generate_run, &job);
    return CS_OK;
}
