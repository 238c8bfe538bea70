/* Channel graph_differ (R8.1): after the start, and wherever a plan says so, a graph is captured that reads, by address,
 * everything that kernels read; after a reload it is replayed, and must see what a fresh cold start of the target holds. */
#include "sim/audit/state.h"

struct cs_graph {
    struct cs_graph *next;
    const struct cs_device *device;
    void *captured;
    size_t n;
    const struct cs_entry **entries; /* of the server when it was captured */
    uint64_t *digests;
};

/* Aliases are read as the parameters that they are; what may differ by declaration is left to the other channels. */
static bool is_read(const struct cs_entry *entry, int rank) {
    bool has_memory = entry->view.storage->kind == CS_STORAGE_MEMORY && cs_view_numel(&entry->view) > 0;
    return entry->rank == rank && has_memory && !entry->is_alias && !entry->declared;
}

static enum cs_status capture_rank(struct cs_session *session, int rank, const struct cs_state *own_cold,
                                   struct cs_graph *graph) {
    struct cs_arena *arena = own_cold->arena;
    struct cs_view *views = CS_NEW_ARRAY(arena, struct cs_view, own_cold->n + 1);
    graph->entries = CS_NEW_ARRAY(arena, const struct cs_entry *, own_cold->n + 1);
    graph->digests = CS_NEW_ARRAY(arena, uint64_t, own_cold->n + 1);
    CS_REQUIRE(views && graph->entries && graph->digests, CS_NO_MEMORY, "out of memory for a graph of %zu tensors",
               own_cold->n);
    for (size_t i = 0; i < own_cold->n; i++) {
        if (!is_read(&own_cold->entries[i], rank)) continue;
        own_cold->entries[i].view.storage->is_captured = true;
        views[graph->n] = own_cold->entries[i].view;
        graph->entries[graph->n++] = &own_cold->entries[i];
    }
    graph->device = session->config.device;
    return graph->device->capture(graph->device, views, graph->n, &graph->captured);
}

enum cs_status cs_graphs_capture(struct cs_session *session, const struct cs_state *own_cold,
                                 struct cs_graph **graphs) {
    for (size_t r = 0; session->config.device->capture && r < session->n_ranks; r++) {
        struct cs_graph *graph = CS_NEW(own_cold->arena, struct cs_graph);
        CS_REQUIRE(graph, CS_NO_MEMORY, "out of memory for a graph");
        graph->next = *graphs;
        CS_TRY(capture_rank(session, (int)r, own_cold, graph));
        *graphs = graph;
    }
    return CS_OK;
}

enum cs_status cs_graphs_compare(const struct cs_graph *graphs, const struct cs_state *cold, int64_t *differ) {
    *differ = 0;
    for (const struct cs_graph *graph = graphs; graph; graph = graph->next) {
        CS_TRY(graph->device->replay(graph->device, graph->captured, graph->digests));
        for (size_t i = 0; i < graph->n; i++) {
            const struct cs_entry *fresh = cs_state_find(cold, graph->entries[i], 0);
            *differ += !fresh || fresh->digest != graph->digests[i];
        }
    }
    return CS_OK;
}

void cs_graphs_forget(struct cs_graph *graphs) {
    for (; graphs; graphs = graphs->next) graphs->device->forget(graphs->device, graphs->captured);
}

/* Nobody reads their addresses any more: what was freed meanwhile can go back. */
static void let_go(const struct cs_graph *graphs) {
    for (const struct cs_graph *graph = graphs; graph; graph = graph->next)
        for (size_t i = 0; i < graph->n; i++) graph->entries[i]->view.storage->is_captured = false;
}

enum cs_status cs_graphs_capture_again(struct cs_session *session, struct cs_arena *arena, struct cs_graph **graphs) {
    struct cs_state now = {.arena = arena};
    CS_TRY(cs_state_capture(session, false, &now));
    let_go(*graphs);
    cs_graphs_forget(*graphs);
    *graphs = NULL;
    return cs_graphs_capture(session, &now, graphs);
}
