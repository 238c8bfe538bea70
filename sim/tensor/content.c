#include "sim/tensor/tensor.h"

#include <assert.h>

static uint64_t low_bits(uint64_t bits, int n) { return n == 64 ? bits : bits & ((UINT64_C(1) << n) - 1); }

/* Element `index` of a stream of random bits. Widths divide 64, so that no element spans two words. */
static uint64_t garbage(uint64_t key, int bits, uint64_t index) {
    uint64_t in_word = 64 / (uint64_t)bits;
    return low_bits(cs_mix64(key + index / in_word) >> (index % in_word * (uint64_t)bits), bits);
}

static uint8_t hash_byte(uint64_t key, uint64_t index) {
    return (uint8_t)(cs_mix64(key + index / 8) >> (index % 8 * 8));
}

static uint8_t pattern_byte(uint64_t key, uint64_t index) {
    return (uint8_t)((uint32_t)(index + key) * UINT32_C(2654435761) >> 24);
}

/* Digits beyond the eighth of a 64-bit number are zero. */
static uint8_t digit_byte(uint64_t number, unsigned digit) { return (uint8_t)(digit < 8 ? number >> (8 * digit) : 0); }

static uint64_t floating(enum cs_dtype dtype, double value) {
    uint64_t bits = 0;
    enum cs_status status = cs_dtype_encode(dtype, value, &bits);
    assert(status == CS_OK);
    (void)status;
    return bits;
}

/* A byte made a sane number: no NaN, no infinity, of ordinary size. */
static uint64_t sane(enum cs_dtype dtype, uint8_t byte) {
    switch (dtype) {
    case CS_BF16:
    case CS_F16:
    case CS_F32:
    case CS_F64:
        return floating(dtype, (byte - 128) / 64.0);
    case CS_E8M0:
        return 120 + byte % 8;
    case CS_E4M3:
        return (byte & 0x7F) == 0x7F ? byte & ~8u : byte;
    case CS_E5M2:
        return (byte & 0x7C) == 0x7C ? byte & ~0x40u : byte;
    default:
        return byte;
    }
}

uint64_t cs_content_element(const struct cs_content *content, enum cs_dtype dtype, uint64_t index) {
    int bits = cs_dtype_bits(dtype);
    enum cs_dtype as = content->as;
    if (content->kind == CS_CONTENT_ZERO) return 0;
    if (content->kind == CS_CONTENT_GARBAGE) return garbage(content->key, bits, index);
    assert(bits == cs_dtype_bits(as));
    if (content->kind == CS_CONTENT_VALUE) return low_bits(content->key, bits);

    /* Two e2m1 elements share the byte of their pair. */
    uint64_t i = bits == 4 ? index / 2 : index;
    uint64_t element;
    if (content->kind == CS_CONTENT_DIGIT) {
        uint8_t digit = digit_byte(i + content->key, content->shift);
        element = cs_dtype_is_number(as) ? floating(as, digit) : digit;
    } else {
        uint8_t byte = content->kind == CS_CONTENT_HASH ? hash_byte(content->key, i) : pattern_byte(content->key, i);
        element = sane(as, (uint8_t)(byte + content->shift));
    }
    return bits == 4 ? element >> (index % 2 * 4) & 0xF : element;
}
