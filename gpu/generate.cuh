/* Synthetic numbers, from a key and an index. Writes each byte once and reads nothing; limit: write bandwidth for bytes
 * (two mixes, some 100 instructions, for 16 bytes), arithmetic for wider numbers, each of which takes a byte of a mix. */
#ifndef CS_GPU_GENERATE_CUH
#define CS_GPU_GENERATE_CUH

#include "gpu/units.cuh"

namespace {

/* ---- bytes ---- */

/* Bytes i … i + n - 1, n ≤ 8, of the stream whose word w is mix(key + w); what lies above them is of no meaning. */
HD uint64_t stream_bytes(uint64_t key, uint64_t i, unsigned n) {
    const unsigned skip = static_cast<unsigned>(i % 8);
    uint64_t bytes = mix(key + i / 8) >> (8 * skip);
    if (skip + n > 8) bytes |= mix(key + i / 8 + 1) << (8 * (8 - skip));
    return bytes;
}

HD unsigned plain_byte(const struct cs_content &content, uint64_t i) {
    const uint64_t number = i + content.key;
    if (content.kind == CS_CONTENT_PATTERN) return static_cast<uint32_t>(number) * UINT32_C(2654435761) >> 24;
    return content.shift < 8 ? static_cast<unsigned>(number >> (8 * content.shift) & 0xFF) : 0;
}

template <unsigned N> HD uint64_t plain_bytes(const struct cs_content &content, uint64_t i) {
    uint64_t bytes = 0;
    for (unsigned k = 0; k < N; k++) bytes |= static_cast<uint64_t>(plain_byte(content, i + k)) << (8 * k);
    return bytes;
}

/* Eight bytes at once: the sum of the low seven bits never reaches a neighbour, the highest bits add without carry. */
HD uint64_t plus_each(uint64_t bytes, unsigned shift) {
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7, add = ones * (shift & 0xFF);
    return ((bytes & ~high) + (add & ~high)) ^ ((bytes ^ add) & high);
}

/* In bytes whose bits of `mask` are all set, clears `bit`: NaN and infinity become numbers. */
HD uint64_t clear_where_full(uint64_t bytes, unsigned mask, unsigned bit) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t missing = ~bytes & (ones * mask);  /* 0 in a byte that is full */
    const uint64_t some = missing + ones * 0x7F;      /* highest bit set where not; mask < 0x80: no carry leaves a byte */
    return bytes & ~(((~some & (ones << 7)) >> 7) * bit);
}

HD uint64_t sane_each(enum cs_dtype as, uint64_t bytes) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    if (as == CS_E8M0) return (bytes & (ones * 7)) + ones * 120;
    if (as == CS_E4M3) return clear_where_full(bytes, 0x7F, 0x08);
    if (as == CS_E5M2) return clear_where_full(bytes, 0x7C, 0x40);
    return bytes;
}

/* ---- numbers ---- */

/* The same as small_number below, without a conversion: 1.5 * 2^23 + value has value in its last bits. All steps are exact. */
HD uint32_t small_f32(int value, float scale) {
    return bits_of_f32((f32_of_bits(0x4B400000u + static_cast<uint32_t>(value)) - 12582912.0f) * scale);
}

/* value * 2^-scale, scale 0 or 6, |value| < 256, as bits of a floating dtype of 16 bits or more: always exact and normal. */
HD uint64_t small_number(enum cs_dtype as, int value, int scale) {
    if (as == CS_F32) return small_f32(value, scale ? 0x1p-6f : 1.0f);
    if (as == CS_BF16) return small_f32(value, scale ? 0x1p-6f : 1.0f) >> 16;
    if (value == 0) return 0;
    const uint64_t sign = value < 0, size = static_cast<uint64_t>(value < 0 ? -value : value);
    const int top = highest_bit(size);
    const uint64_t fraction = (size << (8 - top)) & 0xFF; /* eight bits after the leading one */
    const uint64_t exponent = static_cast<uint64_t>(top - scale + 1023);
    if (as == CS_F64) return sign << 63 | exponent << 52 | fraction << 44;
    return sign << 15 | (exponent - 1023 + 15) << 10 | fraction << 2;
}

HD bool is_wide_float(enum cs_dtype dtype) { return dtype == CS_BF16 || dtype == CS_F16 || dtype == CS_F32 || dtype == CS_F64; }

/* 64 bits of elements of BITS each, the first being number i of the storage. */
template <unsigned BITS> HD uint64_t numbers(const struct cs_content &content, uint64_t i) {
    constexpr unsigned n = 64 / BITS;
    if (content.kind == CS_CONTENT_GARBAGE) return stream_bytes(content.key, i * (BITS / 8), 8);
    const bool is_digit = content.kind == CS_CONTENT_DIGIT;
    uint64_t bytes = content.kind == CS_CONTENT_HASH ? stream_bytes(content.key, i, n) : plain_bytes<n>(content, i);
    if (!is_digit) bytes = plus_each(bytes, content.shift);
    if (BITS == 8) return is_digit ? bytes : sane_each(content.as, bytes);
    const bool is_float = is_wide_float(content.as);
    uint64_t result = 0;
    for (unsigned k = 0; k < n; k++) {
        const int byte = static_cast<int>(bytes >> (8 * k) & 0xFF);
        const uint64_t element = !is_float ? static_cast<uint64_t>(byte) : is_digit ? small_number(content.as, byte, 0) : small_number(content.as, byte - 128, 6);
        result |= element << (BITS * k % 64);
    }
    return result;
}

/* One element of 4 bits: half of its pair's byte. */
HD uint8_t half_byte(const struct cs_content &content, uint64_t i) {
    struct cs_content bytes = content;
    bytes.as = CS_U8;
    return static_cast<uint8_t>(numbers<8>(bytes, i / 2) >> (i % 2 * 4) & 15);
}

HD uint64_t numbers_of_width(const struct cs_content &content, int bits, uint64_t i) {
    switch (bits) {
    case 8: return numbers<8>(content, i);
    case 16: return numbers<16>(content, i);
    case 32: return numbers<32>(content, i);
    default: return numbers<64>(content, i);
    }
}

/* ---- the kernel ---- */

template <class T> struct generated {
    static HD T unit(const struct cs_gpu_generate &job, uint64_t i) {
        return static_cast<T>(numbers_of_width(job.content, job.element_bits, i));
    }
};
template <> struct generated<u128> {
    static HD u128 unit(const struct cs_gpu_generate &job, uint64_t i) {
        const uint64_t second = i + static_cast<uint64_t>(64 / job.element_bits);
        return u128{{numbers_of_width(job.content, job.element_bits, i), numbers_of_width(job.content, job.element_bits, second)}};
    }
};
template <> struct generated<nibble> {
    static HD uint8_t unit(const struct cs_gpu_generate &job, uint64_t i) { return half_byte(job.content, i); }
};

template <class T, class I> struct generate_body {
    struct cs_gpu_generate job;

    HD I load(I i) const { return i; }
    HD void store(I i) const {
        const positions p = positions_of<2>(job.walk, i);
        access<T>::store(job.to, p.at[0], generated<T>::unit(job, static_cast<uint64_t>(p.at[1])));
    }
};

enum cs_status launch_generate(const struct cs_gpu_generate *job) {
    const struct cs_gpu_walk &walk = job->walk;
    return by_width(walk.bits, [&](auto unit) {
        return by_index(walk.n, [&](auto index) {
            typedef generate_body<decltype(unit), decltype(index)> body;
            return launch_each<body, decltype(index)>("generate", walk.n * walk.bits / 8, body{*job}, walk.n);
        });
    });
}

} // namespace

#endif
