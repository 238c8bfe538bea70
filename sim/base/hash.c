#include "sim/base/base.h"

uint32_t cs_fnv1a32(const char *text) {
    uint32_t hash = 0x811c9dc5u;
    for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) hash = (hash ^ *byte) * 0x01000193u;
    return hash;
}

uint64_t cs_fnv1a64(uint64_t state, const void *bytes, size_t size) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++) state = (state ^ byte[i]) * UINT64_C(0x100000001b3);
    return state;
}

uint64_t cs_stream_key(uint64_t seed, const char *name, uint64_t index) {
    uint64_t key = cs_mix64(seed + UINT64_C(0x9e3779b97f4a7c15));
    for (const unsigned char *byte = (const unsigned char *)name; *byte; byte++) key = cs_mix64(key ^ *byte) + *byte;
    return cs_mix64(key + index * UINT64_C(0x9e3779b97f4a7c15));
}
