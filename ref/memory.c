#define _DEFAULT_SOURCE /* madvise */

#include "ref/ref.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CACHE_LINE = 64, HUGE_PAGE = 2 << 20, HUGE_FROM = 4 << 20 };

enum cs_status cs_ref_allocate(const struct cs_device *device, size_t bytes, void **data) {
    (void)device;
    *data = NULL;
    if (bytes == 0) return CS_OK;
    size_t alignment = bytes >= HUGE_FROM ? HUGE_PAGE : CACHE_LINE;
    bool is_possible = bytes <= PTRDIFF_MAX - alignment;
    CS_REQUIRE(is_possible && posix_memalign(data, alignment, bytes) == 0, CS_NO_MEMORY, "ref: no memory for %zu bytes",
               bytes);
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_FROM) madvise(*data, bytes, MADV_HUGEPAGE); /* a wish: nothing depends on it */
#endif
    return CS_OK;
}

void cs_ref_release(const struct cs_device *device, void *data, size_t bytes) {
    (void)device, (void)bytes;
    free(data);
}

enum cs_status cs_ref_upload(const struct cs_device *device, void *data, const void *host, size_t bytes) {
    (void)device;
    if (bytes) memcpy(data, host, bytes);
    return CS_OK;
}

enum cs_status cs_ref_download(const struct cs_device *device, void *host, const void *data, size_t bytes) {
    return cs_ref_upload(device, host, data, bytes);
}
