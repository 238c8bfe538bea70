/* Bits of an f32 → bits of narrower floating dtypes. Inline, so that loops over them vectorise. Inside ref/ only. */
#ifndef CS_REF_NARROW_H
#define CS_REF_NARROW_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { CS_REF_E4M3_NAN = 0x7F, CS_REF_BF16_NAN = 0x7FC0, CS_REF_BF16_NAN_OF_F32 = 0xFFFF };

static inline uint32_t cs_ref_bits_of_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static inline float cs_ref_f32_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline bool cs_ref_is_nan(uint32_t bits) { return (bits & 0x7FFFFFFF) > 0x7F800000; }

/* Round to nearest even at bit 16, by adding just less than a half, and the last bit that stays. */
static inline uint32_t cs_ref_bf16_of_f32(uint32_t bits, uint32_t nan) {
    return cs_ref_is_nan(bits) ? nan : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

/* The same at bit 20, with the exponent's bias exchanged; 448 and more saturate. Below 2^-6 the last place is 2^-9:
 * adding 2^14, whose last place that is, rounds to it. */
static inline uint32_t cs_ref_e4m3_of_f32(uint32_t bits) {
    const uint32_t largest = 0x43E00000, smallest_normal = 0x3C800000;
    uint32_t sign = bits >> 24 & 0x80, magnitude = bits & 0x7FFFFFFF;
    uint32_t small = cs_ref_bits_of_f32(cs_ref_f32_of_bits(magnitude) + 0x1p14f) - cs_ref_bits_of_f32(0x1p14f);
    uint32_t normal = ((magnitude + 0x7FFFF + (magnitude >> 20 & 1)) >> 20) - ((127 - 7) << 3);
    uint32_t code = magnitude < smallest_normal ? small : normal;
    if (magnitude >= largest) code = 0x7E;
    return sign | (cs_ref_is_nan(bits) ? CS_REF_E4M3_NAN : code);
}

#endif
