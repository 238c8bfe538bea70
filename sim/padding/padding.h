/* Padding: which bytes of a module's parameters no checkpoint byte backs, and what they must hold.
 *
 * Loaders say what they narrow away; a policy (R3) decides what happens to it. Records, kept by `record_and_fill`:
 *   - belong to the module, not to the parameter: a reload replaces parameters, never records (R2.1);
 *   - are in parameter coordinates (elements, relative to the parameter's first element) and cover every expert;
 *   - after a fill, the first record of a parameter starts its list over, and the next fill drops every parameter that
 *     this load did not mark (R2.3): two loaders may split one parameter differently;
 *   - are written out once, right before post-load, in one device call (R2.4). */
#ifndef CS_PADDING_H
#define CS_PADDING_H

#include "sim/device/device.h"
#include "sim/mutant/mutant.h"

struct cs_region {
    int64_t offset; /* elements from the parameter's first element */
    int ndim;
    int64_t shape[CS_NDIM], stride[CS_NDIM];
};

/* The part [start, start + length) of every dimension of `view`, as a region of it. CS_BAD_INDEX when it does not fit.
 */
enum cs_status cs_region_of_box(struct cs_region *region, const struct cs_view *view, const int64_t *start,
                                const int64_t *length);
/* The view that a region covers in a parameter that lies at `view`. */
struct cs_view cs_region_view(const struct cs_region *region, const struct cs_view *view);

struct cs_padding_record {
    const char *name;      /* of the parameter */
    struct cs_view layout; /* of the parameter when marked; its storage is not looked at */
    double value;
    bool is_stale; /* marked before the latest fill */
    size_t n_regions, capacity;
    struct cs_region *regions;
};

struct cs_padding {
    size_t n_records, capacity;
    struct cs_padding_record *records;
    struct cs_arena *arena; /* the session's */
    cs_defect_set defects;  /* the rank's */
};

struct cs_fill_stats {
    int64_t calls, regions, bytes; /* R2.8 */
    int64_t skipped;               /* parameters whose layout changed since they were marked */
    int64_t warnings;              /* padded writes into parameters that are not registered (R2.5) */
    const char *warning;           /* the first of them, in words; lives as long as the records */
};

/* Where a loader narrowed: everything that mark needs to know. */
struct cs_padding_site {
    struct cs_padding *padding;
    const struct cs_device *device;
    struct cs_fill_stats *stats;
    const char *module, *name; /* of the parameter, for records and messages */
    struct cs_view view;       /* of the whole parameter, META in a dry run */
    int64_t n_experts;         /* leading dimension of the parameter; 1: it has no experts */
    int64_t expert;            /* that this call loads; -1: all of them */
    double value;              /* that the parameter was created with (R2.2) */
    bool is_parameter;         /* false: a plain tensor */
    bool is_registered;        /* on the module */
    bool *has_warned;
};

/* Records `region` of the parameter, which covers every expert whatever the call loads (R2.1); a region already
 * recorded by this load is kept once. Meta tensors and tensors that are no parameter record nothing; a parameter that
 * is not registered warns once (R2.5). Source: reference pull request, mark_padding. */
enum cs_status cs_padding_mark(const struct cs_padding_site *site, const struct cs_region *region);

/* Finds where the parameter `name` lives now; false when it is gone. */
typedef bool cs_padding_lookup(void *context, const char *name, struct cs_view *view);

/* Writes every region recorded since the last fill, in one device call, and ends the load's records. Parameters that
 * are gone, or whose shape, stride or dtype changed since recording, are skipped and counted. A second fill is a no-op.
 */
enum cs_status cs_padding_fill(struct cs_padding *padding, cs_padding_lookup *lookup, void *context,
                               const struct cs_device *device, struct cs_fill_stats *stats);

/* What was filled last counts as recorded anew: a load without loaders has no records of its own (R4.11), and mutants
 * fill twice. */
void cs_padding_revive(struct cs_padding *padding);

/* ---- policies (R3). An empty slot does nothing. ---- */

struct cs_policy {
    const char *name, *rule, *weakness;
    /* A tensor was rematerialised with uninitialised memory. */
    enum cs_status (*on_materialize)(const struct cs_device *device, const struct cs_view *view,
                                     struct cs_fill_stats *stats);
    /* A loader narrowed `region` away. */
    enum cs_status (*on_narrowed)(const struct cs_padding_site *site, const struct cs_region *region);
    /* Post-load is about to run. */
    enum cs_status (*before_post_load)(struct cs_padding *padding, cs_padding_lookup *lookup, void *context,
                                       const struct cs_device *device, struct cs_fill_stats *stats);
};

extern const struct cs_policy cs_policies[];
extern const size_t cs_n_policies;
const struct cs_policy *cs_policy_by_name(const char *name);

#endif
