/* What goes wrong between sender and loaders: the last tensor of a reload is not sent, comes under a name that nobody
 * knows, or comes twice. */
#include "sim/session/internal.h"

#include <string.h>

static bool has(const struct cs_listing *list, enum cs_defect defect) {
    return cs_defects_have(list->session->config.scenario->defects, defect);
}

static enum cs_status send_twice(struct cs_listing *list) {
    struct cs_arrivals *arrivals = list->arrivals;
    struct cs_arrival *items = CS_NEW_ARRAY(list->arena, struct cs_arrival, arrivals->n + 2);
    CS_REQUIRE(items, CS_NO_MEMORY, "out of memory for %zu arrivals", arrivals->n + 1);
    memcpy(items, arrivals->items, arrivals->n * sizeof *items);
    items[arrivals->n] = items[arrivals->n - 1];
    arrivals->items = items;
    arrivals->capacity = arrivals->n + 2;
    arrivals->n++;
    return CS_OK;
}

enum cs_status cs_listing_mutate(struct cs_listing *list) {
    struct cs_arrivals *arrivals = list->arrivals;
    if (!arrivals->n) return CS_OK;
    struct cs_arrival *last = &arrivals->items[arrivals->n - 1];
    if (has(list, CS_DEFECT_TENSOR_NOT_SENT)) arrivals->n--;
    if (has(list, CS_DEFECT_TENSOR_SENT_TWICE)) CS_TRY(send_twice(list));
    if (has(list, CS_DEFECT_NAME_NOT_MAPPED)) last->is_unmapped = true;
    return CS_OK;
}
