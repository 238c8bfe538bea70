/* Taking ways of loading that nobody took: each is a file that is run like any other. */
#include "sim/cli/tour.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NEXT = 1000000 };

/* ---- one run ---- */

static enum cs_status note(void *context, const struct cs_verdict *verdict) {
    struct tour *tour = context;
    tour->reason = verdict->refused_reason ? verdict->refused_reason : verdict->reason;
    tour->is_unsupported = verdict->is_unsupported;
    return cs_coverage_note(&tour->coverage, verdict->scenario, verdict);
}
static void ignore_progress(void *context, double n_done, int64_t bytes) { (void)context, (void)n_done, (void)bytes; }

/* Runs it on one device. A scenario that is refused, or fails, has been taken all the same. */
static enum cs_status run_script(struct tour *tour, const char *name, const char *lua, struct cs_arena *arena) {
    struct cs_scenario scenario;
    CS_TRY(cs_script_load_text(name, lua, arena, &scenario));
    struct cs_run run = {.n_devices = 1, .n_repeats = 1, .n_jobs = 1, .devices = {tour->device}};
    const struct cs_run_listener listener = {tour, note, ignore_progress};
    return cs_run_scenario(&run, &scenario, arena, &listener);
}

/* `why` it did not do what it was made for, in the arena; `ran`: CS_OK when there was a verdict. A status other than
 * CS_OK is no matter of the file. */
static enum cs_status run_text(struct tour *tour, const char *lua, struct cs_arena *arena, enum cs_status *ran,
                               const char **why) {
    const char *folder = tour->folder;
    if (folder && tour->n_taken == 0) CS_TRY(cs_options_make_output(folder));
    const char *path = cs_arena_format(arena, "%s%s%zu.lua", folder ? folder : "", folder ? "/" : "", ++tour->n_taken);
    CS_REQUIRE(lua && path, CS_NO_MEMORY, "no memory for a file");
    if (folder) CS_TRY(cs_write_text(path, lua));
    tour->reason = NULL;
    tour->is_unsupported = false;
    *ran = run_script(tour, path, lua, arena);
    *why = *ran == CS_OK ? (tour->reason ? tour->reason : "it ran") : cs_arena_text(arena, cs_error_text());
    if (!*why) *why = "no memory to say why";
    return *ran == CS_NO_MEMORY || *ran == CS_INTERNAL ? *ran : CS_OK;
}

static const char *next_name(const struct tour *tour, struct cs_arena *arena) {
    return cs_arena_format(arena, "coverage.%zu", tour->n_taken + 1);
}

static void tell(struct tour *tour, bool is_hit, const char *what, const char *why) {
    tour->n_missed += !is_hit;
    printf("%s  %s%s%s\n", is_hit ? "hit   " : "MISSED", what, is_hit ? "" : ": ", is_hit ? "" : why);
    fflush(stdout); /* it may take an hour */
}

/* ---- a way of loading ---- */

static struct cs_seen_path seen_of(const struct tour *tour, const struct cs_way *path) {
    for (size_t p = 0; p < tour->coverage.n_paths; p++)
        if (memcmp(&tour->coverage.paths[p].path, path, sizeof *path) == 0) return tour->coverage.paths[p];
    return (struct cs_seen_path){0};
}

static enum cs_status take_path(struct tour *tour, const struct cs_way *path) {
    char cell[CS_CELL_TEXT];
    struct cs_arena arena = {0};
    struct cs_seen_path before = seen_of(tour, path);
    const char *why = NULL, *name = next_name(tour, &arena);
    tour->device = cs_device_by_name(tour->model.axis[CS_PATH_device].values[path->value[CS_PATH_device]]);
    enum cs_status ran = CS_OK, status = run_text(tour, name ? cs_path_lua(&tour->model, path, name, &arena) : NULL,
                                                  &arena, &ran, &why);
    struct cs_seen_path now = seen_of(tour, path);
    bool is_hit = cs_seen_hits(&now) > cs_seen_hits(&before), is_undeclared = !is_hit && now.refused > before.refused;
    if (is_undeclared)
        why = cs_arena_format(&arena, "coverage/model.h does not declare that it may be refused: %s", why);
    if (status == CS_OK) tell(tour, is_hit, cs_cell_text(&tour->model, path, cell), why);
    cs_arena_release(&arena);
    return status;
}

struct next {
    int n_kinds;
    struct cs_cells cells[2];  /* pairs, then triples */
    size_t cross[2], index[2]; /* how far each was looked through */
};

/* The next cell that was never hit: pairs first. */
static bool find_never(const struct tour *tour, struct next *next, struct cs_way *cell) {
    for (int kind = 0; kind < next->n_kinds; kind++)
        for (; next->cross[kind] < next->cells[kind].n_crosses; next->cross[kind]++, next->index[kind] = 0) {
            const struct cs_cross *cross = &next->cells[kind].crosses[next->cross[kind]];
            for (; next->index[kind] < cross->n_cells; next->index[kind]++) {
                if (cross->state[next->index[kind]] != CS_PATH_VALID || cross->hits[next->index[kind]]) continue;
                cs_cross_cell(&tour->model, cross, next->index[kind]++, cell);
                return true;
            }
        }
    return false;
}

static void mark(const struct tour *tour, struct next *next, size_t first_path) {
    for (size_t p = first_path; p < tour->coverage.n_paths; p++)
        for (int kind = 0; kind < 2; kind++)
            for (size_t c = 0; c < next->cells[kind].n_crosses; c++) {
                const struct cs_cross *cross = &next->cells[kind].crosses[c];
                const struct cs_seen_path *seen = &tour->coverage.paths[p];
                size_t cell = cs_cross_index(&tour->model, cross, &seen->path);
                cross->hits[cell] += cs_seen_hits(seen) > 0;
            }
}

/* At most `n` runs; what is left of them is returned through it. */
static enum cs_status take_paths(struct tour *tour, size_t *n, int n_kinds) {
    struct next next = {.n_kinds = n_kinds};
    struct cs_way cell, path;
    CS_TRY(cs_cells_count(&tour->coverage, 2, &tour->arena, &next.cells[0]));
    CS_TRY(cs_cells_count(&tour->coverage, 3, &tour->arena, &next.cells[1]));
    for (; *n && find_never(tour, &next, &cell); --*n) {
        size_t n_paths = tour->coverage.n_paths;
        if (!cs_coverage_complete(&tour->coverage, &next.cells[0], &next.cells[1], &cell, tour->seed + *n, &path))
            return cs_fail(CS_INTERNAL, "a valid cell has no way through it");
        CS_TRY(take_path(tour, &path));
        mark(tour, &next, n_paths);
    }
    return CS_OK;
}

/* ---- an illegal pair ---- */

static const char *name_of(const struct tour *tour, const struct cs_way *path, enum cs_path_axis axis) {
    return tour->model.axis[axis].values[path->value[axis]];
}

/* What the method understands by the name of the path's back end, when that is another one; or NULL: such a path cannot
 * be said. */
static const char *understood_as(const struct tour *tour, const struct cs_way *path) {
    const char *name = name_of(tour, path, CS_PATH_backend);
    const struct cs_backend *found = cs_backend_by_name(cs_method_by_name(name_of(tour, path, CS_PATH_method)), name);
    return found && !cs_text_equal(found->name, name) ? found->name : NULL;
}

/* Whether the script is refused, or the load itself. */
static enum cs_status try_illegal(struct tour *tour, const struct cs_way *cell, const struct cs_way *path) {
    char text[CS_CELL_TEXT];
    struct cs_arena arena = {0};
    struct cs_seen_path before = seen_of(tour, path);
    const char *why = NULL, *name = next_name(tour, &arena);
    tour->device = cs_device_by_name(tour->model.axis[CS_PATH_device].values[0]);
    enum cs_status ran = CS_OK, status = run_text(tour, name ? cs_path_lua(&tour->model, path, name, &arena) : NULL,
                                                  &arena, &ran, &why);
    struct cs_seen_path now = seen_of(tour, path);
    bool is_refused = ran != CS_OK || now.refused > before.refused || tour->is_unsupported;
    const char *other = is_refused ? NULL : understood_as(tour, path);
    cs_cell_text(&tour->model, cell, text);
    if (other) why = cs_arena_format(&arena, "there the name means back end %s", other);
    if (status == CS_OK && (is_refused || other))
        printf("refused  %s: %s\n", text, why ? why : "no memory to say why");
    else if (status == CS_OK)
        tell(tour, false, text, cs_arena_format(&arena, "illegal, and not refused: %s", why));
    cs_arena_release(&arena);
    return status;
}

/* One run for every pair that is illegal on a device that is here. */
static enum cs_status take_illegal(struct tour *tour) {
    struct cs_cells pairs;
    CS_TRY(cs_cells_count(&tour->coverage, 2, &tour->arena, &pairs));
    for (size_t c = 0; c < pairs.n_crosses; c++)
        for (size_t i = 0; i < pairs.crosses[c].n_cells; i++) {
            struct cs_way cell, path;
            if (pairs.crosses[c].state[i] != CS_PATH_ILLEGAL) continue;
            cs_cross_cell(&tour->model, &pairs.crosses[c], i, &cell);
            cs_coverage_complete_illegal(&tour->model, &pairs, &cell, &path);
            CS_TRY(try_illegal(tour, &cell, &path));
        }
    return CS_OK;
}

/* ---- an order of operations ---- */

static enum cs_status count_orders(const struct tour *tour, struct cs_arena *arena,
                                   struct cs_orders orders[CS_ORDER_MOST + 1]) {
    for (size_t n = 1; n <= CS_ORDER_MOST; n++) CS_TRY(cs_orders_count(&tour->coverage, n, arena, &orders[n]));
    return CS_OK;
}

/* A chain with the order in it; true through `is_hit` when the run had it. */
static enum cs_status take_chain(struct tour *tour, const struct cs_orders *orders, size_t n, size_t index,
                                 const struct cs_chain *chain, struct cs_arena *arena) {
    char text[CS_CHAIN_TEXT];
    const char *why = NULL, *name = next_name(tour, arena);
    struct cs_orders now;
    tour->device = cs_device_by_name(tour->model.axis[CS_PATH_device].values[0]);
    enum cs_status ran = CS_OK;
    CS_TRY(run_text(tour, name ? cs_chain_lua(&tour->model, &orders[n], chain, name, arena) : NULL, arena, &ran, &why));
    CS_TRY(cs_orders_count(&tour->coverage, n, arena, &now));
    const char *what = cs_arena_format(arena, "order=%s", cs_chain_text(&orders[n], chain, text));
    CS_REQUIRE(what, CS_NO_MEMORY, "no memory for an order");
    tell(tour, now.seen[index], what, why);
    return CS_OK;
}

/* The first order of `n` after `index` that was never seen. */
static bool find_unseen(const struct cs_orders *orders, size_t *index, size_t n_all) {
    while (*index < n_all && (!orders->possible[*index] || orders->seen[*index])) ++*index;
    return *index < n_all;
}

/* At most `n` runs, as above. */
static enum cs_status take_orders(struct tour *tour, size_t *n) {
    for (size_t size = 2, index = 0, n_all; *n && size <= CS_ORDER_MOST;) {
        struct cs_arena arena = {0};
        struct cs_orders orders[CS_ORDER_MOST + 1];
        struct cs_chain chain;
        size_t letters[CS_ORDER_MOST];
        enum cs_status status = count_orders(tour, &arena, orders);
        n_all = orders[2].n_letters * orders[2].n_letters * (size == 3 ? orders[2].n_letters : 1);
        if (status == CS_OK && !find_unseen(&orders[size], &index, n_all)) {
            size++, index = 0;
        } else if (status == CS_OK) {
            cs_order_letters(&orders[size], index, letters);
            status = cs_orders_chain(&tour->model, orders, letters, size, true, &chain);
            if (status == CS_OK) status = take_chain(tour, orders, size, index++, &chain, &arena);
            --*n;
        }
        cs_arena_release(&arena);
        CS_TRY(status);
    }
    return CS_OK;
}

/* ---- what is asked for ---- */

static enum cs_status print_lua(const char *lua) {
    CS_REQUIRE(lua, CS_NO_MEMORY, "no memory for a file");
    fputs(lua, stdout);
    return CS_OK;
}

static enum cs_status hit_order(struct tour *tour, const char *text) {
    struct cs_orders orders[CS_ORDER_MOST + 1];
    struct cs_chain chain;
    size_t letters[CS_ORDER_MOST], n, index = 0;
    CS_TRY(count_orders(tour, &tour->arena, orders));
    CS_TRY(cs_order_parse(&tour->model, &orders[1], text, letters, &n));
    CS_TRY(cs_orders_chain(&tour->model, orders, letters, n, false, &chain));
    for (size_t i = 0; i < n; i++) index = index * orders[n].n_letters + letters[i];
    if (!cs_options_value(&tour->options, "lua")) return take_chain(tour, orders, n, index, &chain, &tour->arena);
    return print_lua(cs_chain_lua(&tour->model, &orders[n], &chain, "coverage.hit", &tour->arena));
}

static enum cs_status hit(struct tour *tour, const char *text) {
    static const char order[] = "order=";
    struct cs_way cell, path;
    const char *reason;
    if (strncmp(text, order, strlen(order)) == 0) return hit_order(tour, text + strlen(order));
    CS_TRY(cs_cell_parse(&tour->model, text, &cell));
    if (cell.value[CS_PATH_device] != CS_PATH_ANY) tour->model.has_device[cell.value[CS_PATH_device]] = true;
    enum cs_path_state state = cs_cell_judge(&tour->model, &cell, &reason, NULL);
    CS_REQUIRE(state == CS_PATH_VALID, CS_BAD_USAGE, "--hit %s: %s: %s", text, cs_path_state_name(state), reason);
    if (!cs_coverage_complete(&tour->coverage, NULL, NULL, &cell, tour->seed, &path))
        return cs_fail(CS_INTERNAL, "--hit %s: no way found", text);
    if (!cs_options_value(&tour->options, "lua")) return take_path(tour, &path);
    return print_lua(cs_path_lua(&tour->model, &path, "coverage.hit", &tour->arena));
}

static enum cs_status take_next(struct tour *tour, const char *text) {
    static const struct {
        const char *word;
        int n_kinds; /* of cells */
    } words[] = {{"orders", 0}, {"pairs", 1}, {"all", 2}};
    size_t n = MOST_NEXT;
    if (cs_text_equal(text, "illegal")) return take_illegal(tour);
    for (size_t i = 0; i < CS_COUNT(words); i++) {
        if (!cs_text_equal(text, words[i].word)) continue;
        CS_TRY(take_orders(tour, &n));
        return take_paths(tour, &n, words[i].n_kinds);
    }
    char *end;
    n = strtoul(text, &end, 10);
    CS_REQUIRE(*text && !*end && n >= 1 && n <= MOST_NEXT, CS_BAD_USAGE,
               "--next wants a number from 1 to %d, \"orders\", \"pairs\", \"all\" or \"illegal\", found \"%s\"",
               MOST_NEXT, text);
    CS_TRY(take_paths(tour, &n, 1));
    CS_TRY(take_orders(tour, &n));
    return take_paths(tour, &n, 2);
}

enum cs_status cs_tour_take(struct tour *tour) {
    const char *next = cs_options_value(&tour->options, "next");
    tour->folder = cs_options_value(&tour->options, "output-dir");
    enum cs_status status = CS_OK;
    for (size_t i = 0; status == CS_OK && i < tour->options.n_given; i++)
        if (cs_text_equal(tour->options.given[i].option->name, "hit")) status = hit(tour, tour->options.given[i].value);
    if (status == CS_OK && next) status = take_next(tour, next);
    return status;
}
