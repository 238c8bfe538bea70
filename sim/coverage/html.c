/* The page: coverage/page.html, with what it shows as JSON in the place of one line. */
#include <jansson.h>
#include <string.h>

#include "coverage/model.h"
#include "sim/coverage/internal.h"

/* coverage/page.html, made by CMakeLists.txt. */
extern const char cs_coverage_page_html[];
static const char place_of_data[] = "/*DATA*/null";

enum { MOST_EXAMPLES = 6 };

/* ---- cells ---- */

struct examples {
    json_t *names;     /* of scenarios, each once */
    uint32_t *of_path; /* its scenario's place in names */
};

static enum cs_status name_scenarios(const struct cs_coverage *coverage, struct cs_arena *arena,
                                     struct examples *examples) {
    examples->of_path = CS_NEW_ARRAY(arena, uint32_t, coverage->n_paths + 1);
    CS_REQUIRE(examples->of_path, CS_NO_MEMORY, "out of memory for the page");
    json_t *index = json_object();
    examples->names = json_array();
    for (size_t p = 0; p < coverage->n_paths; p++) {
        const char *name = coverage->paths[p].scenario;
        const json_t *known = json_object_get(index, name);
        examples->of_path[p] = (uint32_t)(known ? (size_t)json_integer_value(known) : json_array_size(examples->names));
        if (known) continue;
        json_object_set_new(index, name, json_integer(examples->of_path[p]));
        json_array_append_new(examples->names, json_string(name));
    }
    json_decref(index);
    return CS_OK;
}

/* Behind the number of hits. */
static bool has(const json_t *array, uint32_t number) {
    for (size_t i = 1; i < json_array_size(array); i++)
        if (json_integer_value(json_array_get(array, i)) == number) return true;
    return false;
}

/* [hits, scenario, scenario, …] of each cell that was hit, by its number. */
static json_t *hits_of(const struct cs_coverage *coverage, const struct cs_cross *cross,
                       const struct examples *examples) {
    json_t *hits = json_object();
    for (size_t p = 0; p < coverage->n_paths; p++) {
        char key[24];
        size_t cell = cs_cross_index(coverage->model, cross, &coverage->paths[p].path);
        if (!cs_seen_hits(&coverage->paths[p])) continue;
        snprintf(key, sizeof key, "%zu", cell);
        json_t *row = json_object_get(hits, key);
        if (!row) {
            row = json_pack("[i]", (int)(cross->hits[cell] & 0x7FFFFFFF));
            json_object_set_new(hits, key, row);
        }
        if (json_array_size(row) <= MOST_EXAMPLES && !has(row, examples->of_path[p]))
            json_array_append_new(row, json_integer(examples->of_path[p]));
    }
    return hits;
}

/* A letter for each cell: v valid, i ignored, x illegal; and the reason of those that are not valid. NULL: no memory.
 */
static json_t *cross_json(const struct cs_coverage *coverage, const struct cs_cross *cross, json_t *reasons,
                          const struct examples *examples, struct cs_arena *arena) {
    char *states = CS_NEW_ARRAY(arena, char, cross->n_cells + 1);
    if (!states) return NULL;
    json_t *why = json_array();
    for (size_t i = 0; i < cross->n_cells; i++) {
        struct cs_way cell;
        const char *reason;
        cs_cross_cell(coverage->model, cross, i, &cell);
        states[i] = "vix"[cs_cell_judge(coverage->model, &cell, &reason, NULL)];
        size_t r = 0;
        while (reason && r < json_array_size(reasons) &&
               !cs_text_equal(json_string_value(json_array_get(reasons, r)), reason))
            r++;
        if (reason && r == json_array_size(reasons)) json_array_append_new(reasons, json_string(reason));
        json_array_append_new(why, json_integer(reason ? (json_int_t)r : -1));
    }
    return json_pack("{s:i, s:i, s:s, s:o, s:o}", "a", (int)cross->axis[0], "b", (int)cross->axis[1], "state", states,
                     "why", why, "hits", hits_of(coverage, cross, examples));
}

/* ---- the rest ---- */

static json_t *cells_json(const struct cs_cells *cells, double least) {
    return json_pack("{s:I, s:I, s:I, s:I, s:f}", "valid", (json_int_t)cells->n_valid, "hit", (json_int_t)cells->n_hit,
                     "ignored", (json_int_t)cells->n_ignored, "illegal", (json_int_t)cells->n_illegal, "least", least);
}

static json_t *axes_json(const struct cs_coverage_model *model) {
    json_t *axes = json_array();
    for (int a = 0; a < CS_N_PATH_AXES; a++) {
        json_t *values = json_array();
        for (size_t i = 0; i < model->axis[a].n; i++)
            json_array_append_new(values, json_string(model->axis[a].values[i]));
        json_array_append_new(axes, json_pack("{s:s, s:s, s:o}", "name", model->axis[a].name, "text",
                                              model->axis[a].text, "values", values));
    }
    return axes;
}

static json_t *probes_json(const struct cs_coverage *coverage) {
    json_t *probes = json_array();
#define X(name, text)                                                                                                  \
    json_array_append_new(probes,                                                                                      \
                          json_pack("[s, s, I]", #name, text, (json_int_t)coverage->probes[CS_LOAD_PROBE_##name]));
    CS_LOAD_PROBES(X)
#undef X
    return probes;
}

/* A letter for each order: h seen, v never, x impossible. */
static enum cs_status orders_json(const struct cs_coverage *coverage, size_t n, struct cs_arena *arena, json_t **made) {
    struct cs_orders orders;
    CS_TRY(cs_orders_count(coverage, n, arena, &orders));
    size_t n_orders = 1;
    for (size_t i = 0; i < n; i++) n_orders *= orders.n_letters;
    char *states = CS_NEW_ARRAY(arena, char, n_orders + 1);
    CS_REQUIRE(states, CS_NO_MEMORY, "out of memory for %zu orders", n_orders);
    json_t *letters = json_array();
    for (size_t i = 0; i < orders.n_letters; i++) json_array_append_new(letters, json_string(orders.letters[i]));
    for (size_t i = 0; i < n_orders; i++) states[i] = orders.possible[i] ? (orders.seen[i] ? 'h' : 'v') : 'x';
    *made = json_pack("{s:I, s:I, s:o, s:s}", "possible", (json_int_t)orders.n_possible, "seen",
                      (json_int_t)orders.n_seen, "letters", letters, "states", states);
    return CS_OK;
}

/* Numbers only: what a trend needs. */
static enum cs_status numbers_json(const struct cs_coverage *coverage, json_t **made) {
    struct cs_arena arena = {0};
    struct cs_cells pairs, triples;
    json_t *two = NULL, *three = NULL;
    enum cs_status status = cs_cells_count(coverage, 2, &arena, &pairs);
    if (status == CS_OK) status = cs_cells_count(coverage, 3, &arena, &triples);
    if (status == CS_OK) status = orders_json(coverage, 2, &arena, &two);
    if (status == CS_OK) status = orders_json(coverage, 3, &arena, &three);
    if (status == CS_OK)
        *made = json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "runs", (json_int_t)coverage->n_runs, "paths",
                          (json_int_t)coverage->n_paths, "pairs", cells_json(&pairs, CS_COVERAGE_LEAST_PAIRS),
                          "triples", cells_json(&triples, CS_COVERAGE_LEAST_TRIPLES), "orders2", two, "orders3", three,
                          "probes", probes_json(coverage));
    else
        json_decref(two), json_decref(three);
    cs_arena_release(&arena);
    return status;
}

static enum cs_status crosses_json(const struct cs_coverage *coverage, json_t *root) {
    struct cs_arena arena = {0};
    struct cs_cells pairs;
    struct examples examples = {0};
    enum cs_status status = cs_cells_count(coverage, 2, &arena, &pairs);
    if (status == CS_OK) status = name_scenarios(coverage, &arena, &examples);
    json_t *crosses = json_array(), *reasons = json_array();
    for (size_t c = 0; status == CS_OK && c < pairs.n_crosses; c++)
        json_array_append_new(crosses, cross_json(coverage, &pairs.crosses[c], reasons, &examples, &arena));
    status = cs_arena_checked(&arena, status);
    json_object_set_new(root, "axes", axes_json(coverage->model));
    json_object_set_new(root, "crosses", crosses);
    json_object_set_new(root, "reasons", reasons);
    if (examples.names) json_object_set_new(root, "scenarios", examples.names);
    cs_arena_release(&arena);
    return status;
}

/* How many runs killed the mutant, by channel. */
static json_t *kills_of(const json_t *mutant) {
    json_t *counts = json_object();
    size_t i, j;
    const json_t *cell, *channel;
    json_array_foreach(json_object_get(mutant, "cells"), i, cell) {
        json_array_foreach(cell, j, channel) {
            const char *name = json_string_value(channel);
            json_int_t n = name ? json_integer_value(json_object_get(counts, name)) : 0;
            if (name) json_object_set_new(counts, name, json_integer(n + 1));
        }
    }
    return counts;
}

/* Of what `mutants --json` wrote, what the page shows: not each run. */
static json_t *kills_json(const json_t *root) {
    json_t *mutants = json_array();
    size_t i;
    const json_t *mutant;
    json_array_foreach(json_object_get(root, "mutants"), i, mutant) {
        json_t *row = json_object();
        static const char *const kept[] = {"mutant", "text", "killed", "proof"};
        for (size_t k = 0; k < CS_COUNT(kept); k++) json_object_set(row, kept[k], json_object_get(mutant, kept[k]));
        json_object_set_new(row, "by", kills_of(mutant));
        json_array_append_new(mutants, row);
    }
    return mutants;
}

static bool is_kill_matrix(const json_t *root) {
    const json_t *mutants = json_object_get(root, "mutants"), *mutant;
    size_t i;
    json_array_foreach(mutants, i, mutant) {
        bool is_row =
            json_is_string(json_object_get(mutant, "mutant")) && json_is_array(json_object_get(mutant, "cells"));
        if (!is_row) return false;
    }
    return json_is_array(mutants);
}

static enum cs_status add_kills(const char *path, json_t *root) {
    json_t *kills;
    CS_TRY(cs_read_json(path, &kills));
    bool is_matrix = is_kill_matrix(kills);
    if (is_matrix) json_object_set_new(root, "kills", kills_json(kills));
    json_decref(kills);
    CS_REQUIRE(is_matrix, CS_BAD_FILE, "%s: no kill matrix: give the file that `mutants --json` wrote", path);
    return CS_OK;
}

static enum cs_status data_json(const struct cs_coverage_page *page, json_t *root) {
    json_t *now = NULL, *previous = NULL;
    CS_TRY(numbers_json(page->now, &now));
    json_object_set_new(root, "now", now);
    if (page->previous) {
        CS_TRY(numbers_json(page->previous, &previous));
        json_object_set_new(root, "previous", previous);
    }
    if (page->kill_matrix) CS_TRY(add_kills(page->kill_matrix, root));
    if (page->gcovr) json_object_set_new(root, "gcovr", json_string(page->gcovr));
    return crosses_json(page->now, root);
}

/* "<" could end the script. */
static void put_script(FILE *out, const char *json) {
    for (const char *c = json; *c; c++)
        if (*c == '<')
            fputs("\\u003c", out);
        else
            fputc(*c, out);
}

static enum cs_status put_page(FILE *out, const void *json) {
    const char *place = strstr(cs_coverage_page_html, place_of_data);
    fwrite(cs_coverage_page_html, 1, (size_t)(place - cs_coverage_page_html), out);
    put_script(out, json);
    fputs(place + strlen(place_of_data), out);
    return CS_OK;
}

enum cs_status cs_coverage_html(const char *path, const struct cs_coverage_page *page) {
    json_t *root = json_object();
    enum cs_status status = data_json(page, root);
    char *json = status == CS_OK ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    CS_TRY(status);
    CS_REQUIRE(json, CS_NO_MEMORY, "no memory for the page %s", path);
    status = cs_write_with(path, put_page, json);
    free(json);
    return status;
}
