/* Audit: compares a server with a fresh cold start of the checkpoint that it should hold, channel by channel (R8.1),
 * and judges the expectations of a scenario.
 *
 * States are digests first: a state lists every parameter, buffer and side tensor with its address, layout and digest.
 * Bytes are looked at only for what differs; the cold start's are then made again, for that module and rank alone. */
#ifndef CS_AUDIT_H
#define CS_AUDIT_H

#include "sim/session/session.h"

enum cs_byte_class {
    CS_BYTE_PAYLOAD,
    CS_BYTE_SCALE,
    CS_BYTE_PADDING,
    CS_BYTE_LAYOUT
}; /* LAYOUT: shape, stride or dtype differs */
const char *cs_byte_class_name(enum cs_byte_class byte_class);

/* The first difference, in the user's coordinates. -1: the tensor has no such dimension. */
struct cs_first {
    bool exists;
    const char *tensor; /* "model.layers.0.mlp.experts.routed_experts.w13_bias" */
    int rank, layer;
    int64_t expert, row, column; /* of the kernel tensor */
    int64_t n_elements, n_total; /* that differ, in this tensor */
    enum cs_byte_class byte_class;
    uint64_t expected, actual; /* bit patterns */
    enum cs_dtype dtype;
};

enum cs_verdict_status { CS_PASSED, CS_FAILED, CS_MISTRUSTED, CS_REFUSED_AS_UPSTREAM, CS_SKIPPED };
const char *
cs_verdict_status_name(enum cs_verdict_status status); /* "passed", "failed", "mistrusted", "refused", "skipped" */

/* The entry of `op` that speaks about `policy`; equal() when none does (R8.5). */
const struct cs_expected *cs_expected_for(const struct cs_op *op, const char *policy);

/* What can speak against a verdict beside the counts of an expectation; bits of `seen`, after those of enum cs_count.
 */
/* clang-format off */
enum cs_seen {
    CS_SEEN_VALUES = CS_N_COUNTS, /* elements of a toy */
    CS_SEEN_REFUSAL,              /* a load was refused, or was not, against the expectation */
    CS_SEEN_EXCUSE,               /* a declared difference never came */
    CS_SEEN_UNDETERMINED,         /* the cold start depends on what memory held */
    CS_SEEN_REFERENCE,            /* the cold start is not that of the engine without the mutant */
    CS_N_SEEN
};
/* clang-format on */
_Static_assert(CS_N_SEEN <= 64, "what was seen is a 64-bit set");
#define CS_SEEN_BIT(what) (UINT64_C(1) << (what))

/* What was compared: digests of all tensors of the server, and of the fresh cold start, if there is one to be equal to.
 */
struct cs_judged_state {
    int line; /* of the expectation; 0: none */
    bool has_cold_start;
    uint64_t server, cold_start;
};

/* One scenario under one policy on one device. Strings live in the report's arena. */
struct cs_verdict {
    const struct cs_scenario *scenario;
    const char *device, *policy;
    const char *mutant; /* that was switched on for this run, or NULL */
    uint64_t seed;
    enum cs_verdict_status status;
    const char *reason; /* one line: why it did not pass, such as "line 14: side_moved: expected 6, got 0"; or NULL */
    const char *refused_reason; /* or NULL */
    bool is_unsupported;        /* it failed since nobody simulates what it asks for: `reason` */
    int refused_load;           /* the load that was refused: 0 the start, 1 the first reload, … */
    int64_t params_total;
    int64_t count[CS_N_COUNTS]; /* of the failing expectation, or of the last one */
    int line;                   /* of that expectation */
    const char *expected;       /* it in words, such as "params_differ = 8, side_moved = 6" or "equal()" */
    bool is_lucky;              /* passed or failed with lucky tensors: equal by what memory happened to hold */
    struct cs_first first;
    size_t n_why;
    const char *const *why;            /* explanation, at most 15 lines */
    char writer[48];                   /* who wrote the first wrong value to begin with: "loader llama4", "nobody" */
    int64_t n_expectations;            /* that were judged */
    const int64_t *n_excused;          /* one for each of scenario->excuses: tensors that differed there, and may */
    const char *warning;               /* of the padding records (R2.5), or NULL */
    int64_t not_simulated;             /* checkpoint tensors skipped by pattern, in the last load */
    int64_t n_accepted, n_refused;     /* loads of the plan that ran on the server; at most one was refused, the last */
    uint64_t waiting;                  /* bit n: after load n (0: the start) a module waited for the rest of it */
    uint64_t probes[CS_N_LOAD_PROBES]; /* of that server */
    size_t n_ranks;
    uint64_t seen;   /* bits of enum cs_count and enum cs_seen: all that the failing expectation has against the run */
    uint64_t digest; /* of every byte that was compared: two runs with equal counts may still differ */
    size_t n_states; /* expectations that compared states, in their order */
    struct cs_judged_state *states;
    double seconds;
    int64_t bytes_moved, bytes_peak;
};

/* Digests of every tensor of every state that an audit looks at, in its order: another device must make the same. */
struct cs_recording {
    size_t n, capacity;
    uint64_t *digests;
    struct cs_arena *arena;
};

struct cs_audit_options {
    const struct cs_device *device;
    const char *policy; /* one of the registry */
    uint64_t seed;
    /* Told after each module that a server loaded: how many of all those that the three passes will load, and the bytes
     * that were moved so far. NULL: nobody asks. */
    void (*progress)(void *context, int64_t done, int64_t total, int64_t bytes);
    void *progress_context;
    struct cs_recording *recording;       /* filled, or NULL */
    const struct cs_recording *reference; /* what another device made of the same scenario, policy and seed; or NULL */
    struct cs_recording *recording_cold;  /* filled with the cold starts alone, or NULL */
    const struct cs_recording *reference_cold; /* those of the engine without the mutant, which are right; or NULL */
    bool is_brief;                             /* without first difference and explanation */
    struct cs_pool *pool;                      /* of the device, which audits share; NULL: one of this audit's own */
    bool is_quick;     /* brief, and cold starts are of all modules at once: more memory, the same counts */
    size_t most_bytes; /* of its own pool: a load that needs more is refused; 0: as much as the device has */
};

/* Runs the scenario and judges it. A status other than CS_OK means that it could not be run (bad checkpoint, no memory
 * …); the verdict is then of no use. Text of the verdict is made in `arena`. */
enum cs_status cs_audit_scenario(const struct cs_scenario *scenario, const struct cs_audit_options *options,
                                 struct cs_arena *arena, struct cs_verdict *verdict);

/* A state to compare with again and again: digests of every tensor. In `arena`; its names are the session's, which may
 * be restarted, but must not be closed. */
struct cs_kept;
enum cs_status cs_kept_make(struct cs_session *session, struct cs_arena *arena, const struct cs_kept **kept);
/* How many of its parameters and buffers differ now. */
enum cs_status cs_kept_compare(const struct cs_kept *kept, struct cs_session *session, struct cs_arena *scratch,
                               int64_t *n_differ);

#endif
