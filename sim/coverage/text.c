/* Coverage in words: the summary, the matrix of what is supported and tried, and what two files differ in. */
#include "sim/coverage/internal.h"

#include "coverage/model.h"

enum { MOST_LISTED = 20 };

static const char *const probe_names[] = {
#define X(name, text) #name,
    CS_LOAD_PROBES(X)
#undef X
};
static const char *const probe_texts[] = {
#define X(name, text) text,
    CS_LOAD_PROBES(X)
#undef X
};

static double percent(int64_t part, int64_t whole) { return whole ? 100.0 * (double)part / (double)whole : 100.0; }

/* ---- summary ---- */

static void print_cells(FILE *out, const char *what, const struct cs_cells *cells, double least, bool is_asked) {
    double reached = percent(cells->n_hit, cells->n_valid);
    fprintf(out,
            "%-18s %6" PRId64 " of %6" PRId64 " valid cells hit, %6.2f %% (%s: %g %%)%s; %" PRId64
            " of them only refused, as is declared; %" PRId64 " ignored, %" PRId64 " illegal\n",
            what, cells->n_hit, cells->n_valid, reached, is_asked ? "least" : "not asked for", least,
            is_asked && reached < least ? ": too few" : "", cells->n_refused, cells->n_ignored, cells->n_illegal);
}

static enum cs_status print_orders(FILE *out, const struct cs_coverage *coverage, size_t n, struct cs_arena *arena) {
    struct cs_orders orders;
    CS_TRY(cs_orders_count(coverage, n, arena, &orders));
    fprintf(out, "orders of %zu        %6zu of %6zu possible ones seen, %6.2f %%\n", n, orders.n_seen,
            orders.n_possible, percent((int64_t)orders.n_seen, (int64_t)orders.n_possible));
    return CS_OK;
}

/* Orders never seen, with the command that has each in its run. */
static enum cs_status print_unseen(FILE *out, const struct cs_coverage *coverage, size_t n, struct cs_arena *arena) {
    struct cs_orders orders;
    size_t n_listed = 0;
    CS_TRY(cs_orders_count(coverage, n, arena, &orders));
    size_t n_never = orders.n_possible - orders.n_seen;
    if (n_never) fprintf(out, "orders of %zu never seen, and what has them:\n", n);
    for (size_t i = 0; n_listed < n_never && n_listed < MOST_LISTED; i++) {
        char text[CS_CHAIN_TEXT];
        if (!orders.possible[i] || orders.seen[i]) continue;
        fprintf(out, "  coldstart coverage --hit order=%s\n", cs_order_text(&orders, i, text));
        n_listed++;
    }
    if (n_never > n_listed)
        fprintf(out, "  ... and %zu more: coldstart coverage FILE --next orders has them all\n", n_never - n_listed);
    return CS_OK;
}

static void print_probes(FILE *out, const struct cs_coverage *coverage) {
    int n = 0;
    for (int i = 0; i < CS_N_LOAD_PROBES; i++) n += coverage->probes[i] > 0;
    fprintf(out, "probes             %6d of %6d passed\n", n, (int)CS_N_LOAD_PROBES);
    for (int i = 0; i < CS_N_LOAD_PROBES; i++)
        if (!coverage->probes[i]) fprintf(out, "  never: %-24s %s\n", probe_names[i], probe_texts[i]);
}

/* Cells never hit, with the command that hits each. */
static void print_never(FILE *out, const struct cs_coverage *coverage, const struct cs_cells *cells) {
    int64_t n = 0;
    for (size_t c = 0; c < cells->n_crosses; c++) {
        const struct cs_cross *cross = &cells->crosses[c];
        for (size_t i = 0; i < cross->n_cells; i++) {
            if (cross->state[i] != CS_PATH_VALID || cross->hits[i]) continue;
            struct cs_way cell;
            char text[CS_CELL_TEXT];
            if (n == 0) fprintf(out, "never hit, and what hits it:\n");
            cs_cross_cell(coverage->model, cross, i, &cell);
            if (n++ < MOST_LISTED)
                fprintf(out, "  coldstart coverage --hit %s\n", cs_cell_text(coverage->model, &cell, text));
        }
    }
    if (n > MOST_LISTED)
        fprintf(out, "  ... and %" PRId64 " more: coldstart coverage FILE --next 20 hits as many as 20 loads can\n",
                n - MOST_LISTED);
}

static void print_faults(FILE *out, const struct cs_coverage *coverage) {
    const struct cs_seen_path *first;
    char text[CS_CELL_TEXT];
    int64_t n = cs_coverage_faults(coverage, &first);
    if (n)
        fprintf(out, "%" PRId64 " illegal ways of loading were accepted, such as %s in %s\n", n,
                cs_cell_text(coverage->model, &first->path, text), first->scenario);
    n = cs_coverage_undeclared(coverage, &first);
    if (n)
        fprintf(out,
                "%" PRId64
                " ways of loading were only refused, and hit nothing, since coverage/model.h does not declare "
                "that they may be; such as %s in %s\n",
                n, cs_cell_text(coverage->model, &first->path, text), first->scenario);
    if (coverage->n_unknown)
        fprintf(out, "%" PRId64 " ways of loading left out: this program knows no such method, loader or driver\n",
                coverage->n_unknown);
}

enum cs_status cs_coverage_text(FILE *out, const struct cs_coverage *coverage, enum cs_coverage_asked asked) {
    struct cs_arena arena = {0};
    struct cs_cells pairs, triples;
    enum cs_status status = cs_cells_count(coverage, 2, &arena, &pairs);
    if (status == CS_OK) status = cs_cells_count(coverage, 3, &arena, &triples);
    if (status == CS_OK) {
        fprintf(out, "%" PRId64 " runs, %zu ways of loading\n", coverage->n_runs, coverage->n_paths);
        print_cells(out, "pairs of axes", &pairs, CS_COVERAGE_LEAST_PAIRS, asked >= CS_ASKED_PAIRS);
        print_cells(out, "triples of axes", &triples, CS_COVERAGE_LEAST_TRIPLES, asked >= CS_ASKED_TRIPLES);
    }
    for (size_t n = 2; status == CS_OK && n <= CS_ORDER_MOST; n++) status = print_orders(out, coverage, n, &arena);
    if (status == CS_OK) {
        print_probes(out, coverage);
        print_never(out, coverage, &pairs);
        if (asked >= CS_ASKED_TRIPLES) print_never(out, coverage, &triples);
    }
    for (size_t n = 2; status == CS_OK && n <= CS_ORDER_MOST; n++) status = print_unseen(out, coverage, n, &arena);
    cs_arena_release(&arena);
    if (status == CS_OK) print_faults(out, coverage);
    return status;
}

/* ---- support matrix ---- */

/* How often method and back end, with this driver, were loaded: the mark of a cell. */
static const char *mark_of(const struct cs_coverage *coverage, const struct cs_way *cell, char *buffer, size_t size) {
    const char *reason;
    int64_t n = 0;
    enum cs_path_state state = cs_cell_judge(coverage->model, cell, &reason, NULL);
    if (state != CS_PATH_VALID) return state == CS_PATH_IGNORED ? "–" : "";
    for (size_t p = 0; p < coverage->n_paths; p++) {
        const uint8_t *value = coverage->paths[p].path.value;
        bool is_here = value[CS_PATH_method] == cell->value[CS_PATH_method] &&
                       value[CS_PATH_backend] == cell->value[CS_PATH_backend] &&
                       value[CS_PATH_driver] == cell->value[CS_PATH_driver];
        n += is_here ? cs_seen_hits(&coverage->paths[p]) : 0;
    }
    snprintf(buffer, size, n ? "%" PRId64 : "**never**", n);
    return buffer;
}

static enum cs_status put_support(FILE *out, const void *what) {
    const struct cs_coverage *coverage = what;
    const struct cs_coverage_registries *from = &coverage->model->from;
    fputs("Loads, by method, back end and driver. **never**: possible, and nobody tried; –: post-load is not "
          "implemented.\n\n",
          out);
    fputs("| method | back end |", out);
    for (size_t d = 0; d < from->n_drivers; d++) fprintf(out, " %s |", from->drivers[d]->name);
    fputs("\n|---|---|", out);
    for (size_t d = 0; d < from->n_drivers; d++) fputs("---|", out);
    fputc('\n', out);
    for (size_t b = 0; b < from->n_backends; b++) {
        struct cs_way cell;
        char text[CS_CELL_TEXT], buffer[32];
        snprintf(text, sizeof text, "method=%s,backend=%s", from->backends[b].method, from->backends[b].name);
        CS_TRY(cs_cell_parse(coverage->model, text, &cell));
        fprintf(out, "| `%s` | `%s` |", from->backends[b].method, from->backends[b].name);
        for (size_t d = 0; d < from->n_drivers; d++) {
            cell.value[CS_PATH_driver] = (uint8_t)d;
            fprintf(out, " %s |", mark_of(coverage, &cell, buffer, sizeof buffer));
        }
        fputc('\n', out);
    }
    return CS_OK;
}

enum cs_status cs_coverage_markdown(const char *path, const struct cs_coverage *coverage) {
    return cs_write_with(path, put_support, coverage);
}

/* ---- difference ---- */

static void print_difference(FILE *out, const char *sign, const struct cs_coverage_model *model,
                             const struct cs_cross *cross, size_t index) {
    struct cs_way cell;
    char text[CS_CELL_TEXT];
    cs_cross_cell(model, cross, index, &cell);
    fprintf(out, "%s %s\n", sign, cs_cell_text(model, &cell, text));
}

static void compare_cells(FILE *out, const struct cs_coverage_model *model, const struct cs_cells *old,
                          const struct cs_cells *now, int64_t n[2]) {
    for (size_t c = 0; c < old->n_crosses; c++)
        for (size_t i = 0; i < old->crosses[c].n_cells; i++) {
            bool was = old->crosses[c].hits[i], is = now->crosses[c].hits[i];
            if (now->crosses[c].state[i] == CS_PATH_ILLEGAL || was == is) continue;
            print_difference(out, is ? "+" : "-", model, &now->crosses[c], i);
            n[was]++;
        }
}

enum cs_status cs_coverage_diff(FILE *out, const struct cs_coverage *old, const struct cs_coverage *now,
                                int64_t *n_lost) {
    struct cs_arena arena = {0};
    struct cs_cells before, after;
    int64_t n[2] = {0};
    enum cs_status status = cs_cells_count(old, 2, &arena, &before);
    if (status == CS_OK) status = cs_cells_count(now, 2, &arena, &after);
    if (status == CS_OK) compare_cells(out, now->model, &before, &after, n);
    cs_arena_release(&arena);
    for (int i = 0; status == CS_OK && i < CS_N_LOAD_PROBES; i++) {
        bool was = old->probes[i] > 0, is = now->probes[i] > 0;
        if (was == is) continue;
        fprintf(out, "%s probe %s: %s\n", is ? "+" : "-", probe_names[i], probe_texts[i]);
        n[was]++;
    }
    *n_lost = n[1];
    if (status == CS_OK) fprintf(out, "%" PRId64 " newly hit, %" PRId64 " lost\n", n[0], n[1]);
    return status;
}
