/* MT19937 as numpy's legacy RandomState uses it. Source: Matsumoto and Nishimura, mt19937ar; numpy random/_legacy. */
#include "sim/conform/reload.h"

enum { SIZE = 624, MIDDLE = 397 };

struct twister {
    uint32_t word[SIZE];
    size_t next;
};

static void seed_twister(struct twister *twister, uint32_t seed) {
    for (uint32_t i = 0; i < SIZE; i++) {
        twister->word[i] = seed;
        seed = 1812433253u * (seed ^ seed >> 30) + i + 1;
    }
    twister->next = SIZE;
}

static void refill(struct twister *twister) {
    uint32_t *word = twister->word;
    for (size_t i = 0; i < SIZE; i++) {
        uint32_t mixed = (word[i] & 0x80000000u) | (word[(i + 1) % SIZE] & 0x7fffffffu);
        word[i] = word[(i + MIDDLE) % SIZE] ^ mixed >> 1 ^ (mixed & 1 ? 0x9908b0dfu : 0);
    }
    twister->next = 0;
}

static uint32_t draw(struct twister *twister) {
    if (twister->next == SIZE) refill(twister);
    uint32_t x = twister->word[twister->next++];
    x ^= x >> 11;
    x ^= x << 7 & 0x9d2c5680u;
    x ^= x << 15 & 0xefc60000u;
    return x ^ x >> 18;
}

/* A number from 0 to `most`: draws are cut to its bits and drawn again when they exceed it. */
static size_t draw_up_to(struct twister *twister, size_t most) {
    uint32_t mask = (uint32_t)most, x;
    for (unsigned shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    do x = draw(twister) & mask;
    while (x > most);
    return x;
}

void cs_golden_permutation(uint32_t seed, size_t n, size_t *order) {
    struct twister twister;
    seed_twister(&twister, seed);
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n; i-- > 1;) {
        size_t other = draw_up_to(&twister, i), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}
