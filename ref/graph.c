/* A graph of the reference device: the addresses and layouts that were captured, and a digest of each when replayed. */
#include <stdlib.h>

#include "ref/ref.h"

struct captured {
    struct cs_view view;
    struct cs_storage storage; /* as it was: the address is what counts */
};

struct graph {
    size_t n;
    struct captured *items;
};

enum cs_status cs_ref_capture(const struct cs_device *device, const struct cs_view *views, size_t n, void **made) {
    *made = NULL;
    for (size_t i = 0; i < n; i++)
        CS_REQUIRE(views[i].storage->kind == CS_STORAGE_MEMORY, CS_UNSUPPORTED, "%s: a graph reads device memory only",
                   device->name);
    struct graph *graph = calloc(1, sizeof *graph);
    struct captured *items = calloc(n ? n : 1, sizeof *items);
    if (!graph || !items) {
        free(graph);
        free(items);
        return cs_fail(CS_NO_MEMORY, "%s: no memory for a graph of %zu tensors", device->name, n);
    }
    for (size_t i = 0; i < n; i++) items[i] = (struct captured){views[i], *views[i].storage};
    *graph = (struct graph){n, items};
    *made = graph;
    return CS_OK;
}

enum cs_status cs_ref_replay(const struct cs_device *device, void *made, uint64_t *digests) {
    const struct graph *graph = made;
    for (size_t i = 0; i < graph->n; i++) digests[i] = UINT64_C(0xDEADBEEFDEADBEEF); /* nothing stays by chance */
    for (size_t i = 0; i < graph->n; i++) {
        struct cs_view view = graph->items[i].view;
        view.storage = &graph->items[i].storage;
        CS_TRY(cs_ref_digest(device, &view, &digests[i]));
    }
    return CS_OK;
}

void cs_ref_forget(const struct cs_device *device, void *made) {
    struct graph *graph = made;
    (void)device;
    if (graph) free(graph->items);
    free(graph);
}
