/* Loops of the host, with OpenMP: kept in C, so that one compiler's OpenMP runtime serves the whole program. */
#include "gpu/jobs.h"

#include <stdlib.h>
#include <string.h>

enum { COPY_PIECE = 1 << 20, PARALLEL_BLOCKS = 32 }; /* fewer are done before a second thread has woken up */

void cs_gpu_host_copy(void *to, const void *from, size_t bytes) {
    size_t n = bytes / COPY_PIECE + (bytes % COPY_PIECE != 0);
#pragma omp parallel for schedule(static) if (n > 1)
    for (size_t i = 0; i < n; i++) {
        size_t at = i * COPY_PIECE, left = bytes - at;
        memcpy((unsigned char *)to + at, (const unsigned char *)from + at, left < COPY_PIECE ? left : COPY_PIECE);
    }
}

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A number without a common divisor with n, so that i * step mod n runs through all blocks. */
static int64_t coprime_step(int64_t n) {
    int64_t step = (int64_t)(cs_mix64((uint64_t)n) % (uint64_t)n);
    while (common_divisor(step, n) != 1) step++;
    return step;
}

enum cs_status cs_gpu_host_blocks(cs_gpu_block *run, const void *context, int64_t n_blocks, size_t shared_bytes) {
    if (n_blocks == 0) return CS_OK;
    int64_t step = coprime_step(n_blocks) % n_blocks;
    bool has_memory = true;
#pragma omp parallel if (n_blocks >= PARALLEL_BLOCKS) reduction(&& : has_memory)
    {
        unsigned char *shared = malloc(shared_bytes ? shared_bytes : 1);
        has_memory = shared != NULL;
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < n_blocks; i++) {
            if (!shared) continue;
            memset(shared, 0xA5, shared_bytes);
            run(context, (int64_t)((uint64_t)i * (uint64_t)step % (uint64_t)n_blocks), n_blocks, shared);
        }
        free(shared);
    }
    CS_REQUIRE(has_memory, CS_NO_MEMORY, "emu: no host memory for a block's %zu bytes", shared_bytes);
    return CS_OK;
}
