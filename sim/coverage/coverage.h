/* Coverage by meaning: which ways of loading were tried. A *path* is one load of one run, as one value of each axis:
 * loader, method, back end, driver, what the server held before, sharding, policy, arrival, device. A *cell* is a
 * value of two or three axes together. Axes take their values from the registries, so that a new method, loader or
 * driver has cells at once, and no path through them; coverage/model.h declares the rest, and which cells are
 *   valid    somebody can have them: they should be hit, by a load that ran to its end, or that was refused on the way
 *            where coverage/model.h declares that it may be (some back ends cannot be loaded in some ways, which only
 *            the load shows); a refusal that nobody declared hits nothing
 *   ignored  nobody needs to hit them, with the reason
 *   illegal  the engine must refuse them: a load that is accepted is a fault
 *
 * Invariants: a cell is valid when some valid path goes through it; else ignored when an ignored path does; else
 * illegal. What was seen joins with what other runs saw, in any order: paths by the names of their values, counts by
 * adding. Nothing here runs anything: it reads scenarios and verdicts. */
#ifndef CS_COVERAGE_H
#define CS_COVERAGE_H

#include <stdio.h>

#include "sim/audit/audit.h"

/* ---- the model ---- */

/* clang-format off */
#define CS_PATH_AXES(X)                                                                                                \
    X(loader,  "who copies checkpoint tensors into parameters")                                                        \
    X(method,  "quantization method")                                                                                  \
    X(backend, "back end of the method")                                                                               \
    X(driver,  "way to put a checkpoint into the model")                                                               \
    X(before,  "what the server held before the load")                                                                 \
    X(sharding, "ranks, and how weights are split over them")                                                          \
    X(policy,  "who refills padding")                                                                                  \
    X(arrival, "in which order and completeness checkpoint tensors come")                                              \
    X(device,  "what does the byte work")
/* clang-format on */

enum cs_path_axis {
#define X(name, text) CS_PATH_##name,
    CS_PATH_AXES(X)
#undef X
        CS_N_PATH_AXES
};
enum { CS_PATH_ANY = 255, CS_PATH_VALUES = 128 };

struct cs_path_axis_values {
    const char *name, *text;
    size_t n;
    const char *values[CS_PATH_VALUES];
};

/* One load: an index into each axis; CS_PATH_ANY: not said (cells only). */
struct cs_way {
    uint8_t value[CS_N_PATH_AXES];
};

/* Where axes take their values from: the program's own registries, or a test's. */
struct cs_coverage_registries {
    size_t n_loaders, n_methods, n_backends, n_drivers;
    const struct cs_loader *const *loaders;
    const struct cs_method *const *methods;
    const struct cs_backend *backends;
    const struct cs_driver *const *drivers;
};
struct cs_coverage_registries cs_coverage_own_registries(void);

enum cs_path_state { CS_PATH_VALID, CS_PATH_IGNORED, CS_PATH_ILLEGAL };
const char *cs_path_state_name(enum cs_path_state state);

struct cs_coverage_model {
    struct cs_coverage_registries from;
    struct cs_path_axis_values axis[CS_N_PATH_AXES];
    bool has_device[8]; /* devices that some run had: the others are ignored */
    struct cs_cell_rule *rules, *refusals;
    size_t n_rules, n_refusals;
    int16_t (*backend_at)[CS_PATH_VALUES]; /* by method and back end: registry row, or -1 */
    bool (*loads)[CS_PATH_VALUES];         /* by method and loader */
};
/* CS_BAD_VALUE when a row of coverage/model.h names no axis or value. */
enum cs_status cs_coverage_model(struct cs_coverage_model *model, const struct cs_coverage_registries *registries,
                                 struct cs_arena *arena);
/* The state of a path or cell; `reason` of what is not valid. `example`: a whole path of that state through it, or
 * NULL. */
enum cs_path_state cs_cell_judge(const struct cs_coverage_model *model, const struct cs_way *cell, const char **reason,
                                 struct cs_way *example);
/* Why a load may be refused, as coverage/model.h declares; NULL: it must run to its end. */
const char *cs_path_refusal(const struct cs_coverage_model *model, const struct cs_way *path);
/* "driver=direct,policy=none" → a cell. CS_BAD_VALUE names the word, and the nearest. */
enum cs_status cs_cell_parse(const struct cs_coverage_model *model, const char *text, struct cs_way *cell);
enum { CS_CELL_TEXT = 512 };
/* The other way round, into a buffer of CS_CELL_TEXT bytes. */
char *cs_cell_text(const struct cs_coverage_model *model, const struct cs_way *cell, char *buffer);

/* ---- what was seen ---- */

struct cs_seen_path {
    struct cs_way path;
    int64_t accepted, refused; /* loads */
    const char *scenario;      /* one that has it, by name */
    bool may_be_refused;       /* by the model; set when it is added */
};
/* Loads that count as hits: those that ran to their end, and refused ones where that is declared. */
static inline int64_t cs_seen_hits(const struct cs_seen_path *seen) {
    return seen->accepted + (seen->may_be_refused ? seen->refused : 0);
}
struct cs_seen_sequence {
    const char *text; /* "cold_start layerwise direct" */
    int64_t n;
};

struct cs_coverage {
    const struct cs_coverage_model *model;
    struct cs_arena *arena;
    int64_t n_runs; /* verdicts */
    size_t n_paths, path_capacity, n_slots;
    struct cs_seen_path *paths;
    uint32_t *slots; /* open addressing, path + 1 */
    size_t n_sequences, sequence_capacity, n_sequence_slots;
    struct cs_seen_sequence *sequences;
    uint32_t *sequence_slots;
    int64_t probes[CS_N_LOAD_PROBES];
    int64_t n_unknown; /* paths of a file whose values this program does not know */
};

void cs_coverage_init(struct cs_coverage *coverage, const struct cs_coverage_model *model, struct cs_arena *arena);
/* Adds the loads of one run: of `verdict`, under its policy and device. Models without routed experts have no paths. */
enum cs_status cs_coverage_note(struct cs_coverage *coverage, const struct cs_scenario *scenario,
                                const struct cs_verdict *verdict);
enum cs_status cs_coverage_add(struct cs_coverage *coverage, const struct cs_seen_path *seen);
enum cs_status cs_coverage_add_sequence(struct cs_coverage *coverage, const char *text, int64_t n);
/* The path of operation `op` of a scenario; false: it is no load, or has none. */
bool cs_coverage_path(const struct cs_coverage_model *model, const struct cs_scenario *scenario, size_t op,
                      const char *policy, const char *device, struct cs_way *path);

/* JSON, version 1. Reading joins with what is there. CS_BAD_FILE names file and place. */
enum cs_status cs_coverage_write(const char *path, const struct cs_coverage *coverage);
enum cs_status cs_coverage_read(const char *path, struct cs_coverage *coverage);

/* ---- cells ---- */

/* Every cell of `n_axes` axes together. */
struct cs_cross {
    size_t n_axes, n_cells;
    enum cs_path_axis axis[3];
    uint8_t *state;            /* enum cs_path_state */
    uint32_t *hits, *accepted; /* loads; accepted ones of illegal cells are faults */
};
struct cs_cells {
    size_t n_crosses;
    struct cs_cross *crosses; /* all pairs, or all triples, in the order of axes */
    int64_t n_valid, n_hit, n_ignored, n_illegal;
    int64_t n_refused; /* of those that were hit: every load was refused, as is declared */
};
enum cs_status cs_cells_count(const struct cs_coverage *coverage, size_t n_axes, struct cs_arena *arena,
                              struct cs_cells *cells);
/* Cell `index` of a cross, as a path with CS_PATH_ANY elsewhere. */
void cs_cross_cell(const struct cs_coverage_model *model, const struct cs_cross *cross, size_t index,
                   struct cs_way *cell);
size_t cs_cross_index(const struct cs_coverage_model *model, const struct cs_cross *cross, const struct cs_way *path);
/* Illegal paths that were accepted; `first` of them. */
int64_t cs_coverage_faults(const struct cs_coverage *coverage, const struct cs_seen_path **first);

/* Paths of which every load was refused, and nobody declared that it may be; `first` of them. */
int64_t cs_coverage_undeclared(const struct cs_coverage *coverage, const struct cs_seen_path **first);

/* What is asked of a report: nothing, that enough pairs are hit, that enough triples are hit too. */
enum cs_coverage_asked { CS_ASKED_NOTHING, CS_ASKED_PAIRS = 2, CS_ASKED_TRIPLES = 3 };
/* Whether as much is hit as coverage/model.h asks for, and no illegal load was accepted. */
enum cs_status cs_coverage_is_enough(const struct cs_coverage *coverage, enum cs_coverage_asked asked, bool *answer);

/* ---- orders of operations ---- */

/* Orders of `n` operations: how many are possible, and which of them some run had, not necessarily side by side. A
 * letter is a driver, or "sleep" (and wake). */
struct cs_orders {
    size_t n, n_letters, n_possible, n_seen;
    const char *letters[CS_PATH_VALUES];
    bool *seen; /* n_letters ^ n, the first operation most significant */
    bool *possible;
};
enum cs_status cs_orders_count(const struct cs_coverage *coverage, size_t n, struct cs_arena *arena,
                               struct cs_orders *orders);
enum { CS_ORDER_MOST = 3, CS_CHAIN_MOST = 12, CS_CHAIN_TEXT = 1024 };
/* Order `index` as "cold_start+sleep+direct", into a buffer of CS_CHAIN_TEXT bytes. */
char *cs_order_text(const struct cs_orders *orders, size_t index, char *buffer);
void cs_order_letters(const struct cs_orders *orders, size_t index, size_t letters[CS_ORDER_MOST]);

/* Operations one after the other, the first one a start. */
struct cs_chain {
    size_t n, letter[CS_CHAIN_MOST];
    struct cs_way load[CS_CHAIN_MOST]; /* of those that are loads */
};
/* A chain with the order in it, with other operations in between where one cannot follow the other at once; `is_long`:
 * it goes on as long as that brings orders never seen. `orders`: by length. CS_BAD_VALUE: there is none. */
enum cs_status cs_orders_chain(const struct cs_coverage_model *model, const struct cs_orders orders[CS_ORDER_MOST + 1],
                               const size_t *order, size_t n, bool is_long, struct cs_chain *chain);
/* "cold_start+sleep+direct" → letters. CS_BAD_VALUE names the word, and the nearest. */
enum cs_status cs_order_parse(const struct cs_coverage_model *model, const struct cs_orders *orders, const char *text,
                              size_t order[CS_ORDER_MOST], size_t *n);
char *cs_chain_text(const struct cs_orders *orders, const struct cs_chain *chain, char *buffer);
/* A file that `coldstart run` takes. NULL: no memory. */
char *cs_chain_lua(const struct cs_coverage_model *model, const struct cs_orders *orders, const struct cs_chain *chain,
                   const char *name, struct cs_arena *arena);

/* ---- ways to hit a cell ---- */

/* A whole valid path through `cell` that hits as many of these valid cells never hit as greedy choices find; NULL: of
 * none. False: no valid path goes through it. */
bool cs_coverage_complete(const struct cs_coverage *coverage, const struct cs_cells *pairs,
                          const struct cs_cells *triples, const struct cs_way *cell, uint64_t seed,
                          struct cs_way *path);
/* A whole path through an illegal cell that has as little else against it as one pass over the axes finds. */
void cs_coverage_complete_illegal(const struct cs_coverage_model *model, const struct cs_cells *pairs,
                                  const struct cs_way *cell, struct cs_way *path);
/* A file that `coldstart run` takes and whose last load is this path; its device is the command line's. NULL: no
 * memory. */
char *cs_path_lua(const struct cs_coverage_model *model, const struct cs_way *path, const char *name,
                  struct cs_arena *arena);

/* ---- reports ---- */

enum cs_status cs_coverage_text(FILE *out, const struct cs_coverage *coverage, enum cs_coverage_asked asked);
enum cs_status cs_coverage_markdown(const char *path, const struct cs_coverage *coverage);
/* One page that needs nothing else. `previous`, the file that `mutants --json` wrote, and the address of gcovr's page
 * may be NULL. CS_BAD_FILE names a file that is no kill matrix. */
struct cs_coverage_page {
    const struct cs_coverage *now, *previous;
    const char *kill_matrix, *gcovr;
};
enum cs_status cs_coverage_html(const char *path, const struct cs_coverage_page *page);
/* What `now` hits and `old` does not, and the other way round: valid cells of two axes, and probes. Returns through
 * `n_lost`. */
enum cs_status cs_coverage_diff(FILE *out, const struct cs_coverage *old, const struct cs_coverage *now,
                                int64_t *n_lost);

#endif
