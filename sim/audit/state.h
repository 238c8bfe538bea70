/* A state: everything a session holds, as addresses, layouts and digests. Private to this folder. */
#ifndef CS_STATE_H
#define CS_STATE_H

#include "sim/audit/audit.h"

/* PARAM: parameters and buffers. HIDDEN: side tensors that nobody can walk to; graphs read them all the same. */
enum cs_entry_kind { CS_ENTRY_PARAM, CS_ENTRY_SIDE, CS_ENTRY_HIDDEN };

struct cs_entry {
    enum cs_entry_kind kind;
    int rank;
    size_t module;
    const struct cs_module_spec *spec;
    const char *name;    /* slot name, or side path */
    struct cs_view view; /* layout only: its storage may be gone */
    uint64_t storage_id;
    size_t byte_offset;
    uint64_t digest;                  /* without the region that may differ */
    const struct cs_excuse *declared; /* which one that is, or NULL */
    uint64_t excused;                 /* digest of the region */
    bool is_alias;                    /* SIDE: its storage is a live parameter's or buffer's */
};

struct cs_state {
    size_t n, capacity;
    struct cs_entry *entries;
    struct cs_arena *arena;
};

/* Adds everything that a session holds to a state that has its arena; without digests when only addresses matter. */
enum cs_status cs_state_capture(struct cs_session *session, bool has_digests, struct cs_state *state);
/* The entry of the same rank, module and name; NULL when there is none. `hint` is where it probably is. */
const struct cs_entry *cs_state_find(const struct cs_state *state, const struct cs_entry *like, size_t hint);
/* Bytes, shape, stride or dtype differ. */
bool cs_entry_differs(const struct cs_entry *a, const struct cs_entry *b);

/* Counts the channels of `now` against a fresh cold start and against this server's own cold start; `first` is the
 * first differing parameter, or NULL. */
void cs_state_compare(const struct cs_state *now, const struct cs_state *cold, const struct cs_state *own_cold,
                      int64_t *count, int64_t *total, const struct cs_entry **first);
/* Notes what an expectation of `line` compares, in a digest of each of the two and in that of the whole verdict. `cold`
 * may be NULL. */
enum cs_status cs_verdict_add_states(struct cs_verdict *verdict, struct cs_arena *arena, int line,
                                     const struct cs_state *now, const struct cs_state *cold);

/* ---- what may differ (R7) ---- */

/* The first declaration that names the tensor, or NULL. */
const struct cs_excuse *cs_excuse_of(const struct cs_scenario *scenario, const char *module, const char *name);
/* Digests of the tensor without the region, and of the region alone. CS_BAD_SCRIPT when it does not fit the tensor. */
enum cs_status cs_excuse_digests(const struct cs_device *device, const struct cs_view *view,
                                 const struct cs_excuse *declared, uint64_t *rest, uint64_t *excused);
/* Whether an element may differ. */
bool cs_excuse_covers(const struct cs_excuse *declared, const struct cs_view *view, int64_t element);
/* Adds to `n_excused`, one for each declaration: tensors of `now` whose region differs from the cold start's. */
void cs_excuse_count(const struct cs_scenario *scenario, const struct cs_state *now, const struct cs_state *cold,
                     int64_t *n_excused);

/* Parameters equal to the cold start in `now` and different in `other`, the same plan over other garbage (R8.3). */
int64_t cs_state_lucky(const struct cs_state *now, const struct cs_state *other, const struct cs_state *cold);

/* The cold start itself must not depend on memory; else there is nothing to be equal to. The same cold start over two
 * memories: the first parameter that differs, as the reason of a failure, or NULL. */
const char *cs_state_undetermined(const struct cs_state *cold, const struct cs_state *garbage, struct cs_arena *arena);
/* Tensors of `now` that are not what they were in `before`, an earlier state of the same server; none when that is
 * empty. */
int64_t cs_state_changed(const struct cs_state *now, const struct cs_state *before);

/* Parameters of a cold start of `checkpoint` with a bit that the checkpoint decides, and padding too: where
 * another checkpoint of the scenario differs over the same padding, and this one over another that nobody refills.
 * `line`: of the expectation that asks. CS_BAD_SCRIPT when there is no other checkpoint. */
enum cs_status cs_padding_leaks(const struct cs_session *live, const char *checkpoint, int line, struct cs_arena *arena,
                                int64_t *n_leaks, const char **first);

/* The reason of a failure: a declaration that no tensor made use of; NULL: all were used. */
const char *cs_excuse_unused(const struct cs_scenario *scenario, const int64_t *n_excused, struct cs_arena *arena);

/* The counts that the session keeps of its last load. */
void cs_load_counts(const struct cs_session *session, struct cs_arena *arena, struct cs_verdict *verdict);

/* ---- graphs (graph.c) ---- */

struct cs_graph;
/* Captures one graph for each rank, in the arena of `own_cold`, the state of the server after its start; nothing on a
 * device that has none. */
enum cs_status cs_graphs_capture(struct cs_session *session, const struct cs_state *own_cold, struct cs_graph **graphs);
/* Replays them: how many of the tensors that they read are not those of the fresh cold start. */
enum cs_status cs_graphs_compare(const struct cs_graph *graphs, const struct cs_state *cold, int64_t *differ);
/* Forgets them and captures others, of the server as it is now: of a module on the meta device, nothing. */
enum cs_status cs_graphs_capture_again(struct cs_session *session, struct cs_arena *arena, struct cs_graph **graphs);
void cs_graphs_forget(struct cs_graph *graphs);

/* ---- explanation ---- */

/* The failing server, and how to make the cold start's bytes again, for one module and rank. */
struct cs_case {
    struct cs_session *live;
    const char *cold_policy, *checkpoint; /* that the server should hold */
    const struct cs_state *now, *cold,
        *garbage; /* garbage: the same plan over other undefined memory; NULL: it did not get here */
};

/* Fills `first`: coordinates, byte class, expected and actual bits. `element` is -1 when the layout itself differs. */
enum cs_status cs_first_difference(const struct cs_case *failing, const struct cs_entry *entry, struct cs_arena *arena,
                                   struct cs_first *first, int64_t *element);
/* Says in words where the element's value came from, out of the live session's trace. */
enum cs_status cs_explain(const struct cs_case *failing, const struct cs_entry *entry, int64_t element,
                          struct cs_arena *arena, struct cs_verdict *verdict);

/* A cold start of `checkpoint` in a session of its own, perhaps of one module only. The caller closes it, whatever the
 * status. */
enum cs_status cs_cold_session(const struct cs_session_config *config, const char *checkpoint,
                               struct cs_session *session);

#endif
