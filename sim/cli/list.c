#include "sim/cli/list.h"

#include <stdio.h>
#include <string.h>

#include "sim/driver/driver.h"
#include "sim/loader/loader.h"
#include "sim/method/method.h"

enum { COLUMNS = 7 };

/* What no registry has: rows read from a folder, a usual one unless another is named. */
struct rows {
    struct cs_model_list models;
    struct cs_support_list support;
};
struct source {
    const char *folder;
    enum cs_status (*read)(const char *folder, struct cs_arena *arena, struct rows *rows);
    bool (*row)(const struct rows *rows, size_t i, struct cs_arena *arena, const char **cells);
};

/* A registry seen as a table: `row` fills the cells of row i (NULL and "" show as "-"), or says that there is none. */
struct list {
    const char *kind;
    const char *heading[COLUMNS]; /* NULL: no more columns */
    bool (*row)(size_t i, struct cs_arena *arena, const char **cells);
    const struct source *source; /* of a folder's rows, instead of `row` */
};

/* ---- rows ---- */

static const char *bits_text(int bits, struct cs_arena *arena) {
    return bits ? cs_arena_format(arena, "%d", bits) : "any";
}

static const char *rounding_text(const struct cs_rounding *rounding, struct cs_arena *arena) {
    if (!rounding->intermediate && !rounding->hidden) return NULL;
    return cs_arena_format(arena, "%" PRId64 " %" PRId64, rounding->intermediate, rounding->hidden);
}

static bool backend_row(size_t i, struct cs_arena *arena, const char **cells) {
    if (i >= cs_n_backends) return false;
    const struct cs_backend *backend = &cs_backends[i];
    cells[0] = backend->method;
    cells[1] = backend->name;
    cells[2] = rounding_text(&backend->released, arena);
    cells[3] = rounding_text(&backend->reference, arena);
    cells[4] = backend->steps ? "yes" : backend->is_refused ? "refused" : "no";
    cells[5] = backend->upstream;
    cells[6] = backend->why_not;
    return true;
}

static bool device_row(size_t i, struct cs_arena *arena, const char **cells) {
    if (i >= cs_n_devices) return false;
    const char *unavailable = cs_devices[i]->unavailable ? cs_devices[i]->unavailable() : "";
    cells[0] = cs_devices[i]->name;
    cells[1] = *unavailable ? cs_arena_format(arena, "unavailable: %s", unavailable) : "available";
    return true;
}

static bool driver_row(size_t i, struct cs_arena *arena, const char **cells) {
    (void)arena;
    if (i >= cs_n_drivers) return false;
    cells[0] = cs_drivers[i]->name;
    cells[1] = cs_drivers[i]->is_start ? "start" : "reload";
    cells[2] = cs_drivers[i]->text;
    return true;
}

static bool layout_row(size_t i, struct cs_arena *arena, const char **cells) {
    if (i >= cs_n_layouts) return false;
    const struct cs_layout *layout = &cs_layouts[i];
    const char *row[COLUMNS] = {layout->name,  bits_text(layout->bits, arena), layout->pad, layout->view, layout->flip,
                                layout->order, layout->word ? "yes" : NULL};
    memcpy(cells, row, sizeof row);
    return true;
}

static bool loader_row(size_t i, struct cs_arena *arena, const char **cells) {
    (void)arena;
    if (i >= cs_n_loaders) return false;
    cells[0] = cs_loaders[i]->name;
    cells[1] = cs_loaders[i]->text;
    return true;
}

static bool method_row(size_t i, struct cs_arena *arena, const char **cells) {
    if (i >= cs_n_methods) return false;
    const char *loaders = "";
    for (const char *const *name = cs_methods[i]->loaders; name && *name && loaders; name++)
        loaders = cs_arena_format(arena, "%s%s%s", loaders, *loaders ? " " : "", *name);
    cells[0] = cs_methods[i]->name;
    cells[1] = loaders;
    cells[2] = cs_methods[i]->text;
    return true;
}

static bool mutant_row(size_t i, struct cs_arena *arena, const char **cells) {
    (void)arena;
    if (i >= CS_N_DEFECTS) return false;
    const struct cs_defect_row *row = cs_defect_row((enum cs_defect)i);
    const char *columns[] = {
        row->name, row->state == CS_STANDING ? "standing" : "off", row->group, row->channel, row->report, row->text};
    memcpy(cells, columns, sizeof columns);
    return true;
}

static bool policy_row(size_t i, struct cs_arena *arena, const char **cells) {
    (void)arena;
    if (i >= cs_n_policies) return false;
    cells[0] = cs_policies[i].name;
    cells[1] = cs_policies[i].rule;
    cells[2] = cs_policies[i].weakness;
    return true;
}

static bool table_row(size_t i, struct cs_arena *arena, const char **cells) {
    if (i >= cs_n_step_tables) return false;
    cells[0] = cs_step_tables[i]->name;
    cells[1] = cs_arena_format(arena, "%zu", cs_step_tables[i]->n_steps);
    return true;
}

static enum cs_status read_models(const char *folder, struct cs_arena *arena, struct rows *rows) {
    return cs_list_models(folder, arena, &rows->models);
}
static bool model_row(const struct rows *rows, size_t i, struct cs_arena *arena, const char **cells) {
    return cs_list_model_row(&rows->models, i, arena, cells);
}
static const struct source models = {"scenarios", read_models, model_row};

static enum cs_status read_support(const char *folder, struct cs_arena *arena, struct rows *rows) {
    return cs_list_support(folder, arena, &rows->support);
}
static bool support_row(const struct rows *rows, size_t i, struct cs_arena *arena, const char **cells) {
    return cs_list_support_row(&rows->support, i, arena, cells);
}
static const struct source support = {"tests/golden", read_support, support_row};

/* clang-format off */
static const struct list lists[] = {
    {"devices", {"device", "state"}, device_row, NULL},
    {"methods", {"method", "loaders", "text"}, method_row, NULL},
    {"backends", {"method", "backend", "rounds I H", "reference", "post-load", "upstream", "why not"}, backend_row, NULL},
    {"layouts", {"layout", "bits", "pad", "view", "flip", "order", "word"}, layout_row, NULL},
    {"loaders", {"loader", "text"}, loader_row, NULL},
    {"policies", {"policy", "rule", "weakness"}, policy_row, NULL},
    {"drivers", {"driver", "kind", "text"}, driver_row, NULL},
    {"mutants", {"mutant", "state", "class", "channel", "report", "what is wrong"}, mutant_row, NULL},
    {"tables", {"table of steps", "steps"}, table_row, NULL},
    {"models", {"model", "layers", "experts from", "experts", "hidden", "intermediate", "experts in checkpoints"}, NULL, &models},
    {"support", {"method", "back end", "loader", "loading", "post-load", "why"}, NULL, &support},
};
/* clang-format on */

/* ---- printing ---- */

static bool next_row(const struct list *list, const struct rows *rows, size_t i, struct cs_arena *arena,
                     const char **cells) {
    memset(cells, 0, COLUMNS * sizeof *cells);
    bool is_there = list->row ? list->row(i, arena, cells) : list->source->row(rows, i, arena, cells);
    for (size_t c = 0; c < COLUMNS; c++)
        if (!cells[c] || !*cells[c]) cells[c] = "-";
    return is_there;
}

static void widen(size_t *width, const char *const *cells) {
    for (size_t c = 0; c < COLUMNS; c++)
        if (cells[c] && strlen(cells[c]) > width[c]) width[c] = strlen(cells[c]);
}

/* The last column is not padded: no line ends with spaces. */
static void print_row(const struct list *list, const char *const *cells, const size_t *width) {
    for (size_t c = 0; c < COLUMNS && list->heading[c]; c++) {
        bool is_last = c + 1 == COLUMNS || !list->heading[c + 1];
        if (is_last)
            printf("%s\n", cells[c]);
        else
            printf("%-*s  ", (int)width[c], cells[c]);
    }
}

/* `folder`: of a source; NULL: its usual one. */
static enum cs_status print_list(const struct list *list, const char *folder, struct cs_arena *arena) {
    const char *cells[COLUMNS];
    size_t width[COLUMNS] = {0};
    struct rows rows = {0};
    if (list->source) CS_TRY(list->source->read(folder ? folder : list->source->folder, arena, &rows));
    widen(width, list->heading);
    for (size_t i = 0; next_row(list, &rows, i, arena, cells); i++) widen(width, cells);
    print_row(list, list->heading, width);
    for (size_t i = 0; next_row(list, &rows, i, arena, cells); i++) print_row(list, cells, width);
    return CS_OK;
}

/* Without what is in folders where they are not. */
static enum cs_status print_all(struct cs_arena *arena) {
    for (size_t i = 0; i < CS_COUNT(lists); i++) {
        printf("%s%s:\n\n", i ? "\n" : "", lists[i].kind);
        enum cs_status status = print_list(&lists[i], NULL, arena);
        bool has_no_folder = lists[i].source && status == CS_BAD_FILE;
        if (has_no_folder) printf("%s\n", cs_error_text());
        if (!has_no_folder) CS_TRY(status);
    }
    return CS_OK;
}

static enum cs_status find_list(const char *kind, const struct list **found) {
    const char *kinds[CS_COUNT(lists)];
    for (size_t i = 0; i < CS_COUNT(lists); i++) {
        *found = &lists[i];
        kinds[i] = lists[i].kind;
        if (cs_text_equal(kind, kinds[i])) return CS_OK;
    }
    return cs_cli_unknown("list", kind, kinds, CS_COUNT(kinds));
}

static enum cs_status list_words(const struct cs_options *options, struct cs_arena *arena) {
    const struct list *list;
    if (options->n_words == 0) return print_all(arena);
    CS_TRY(find_list(options->words[0], &list));
    size_t most = list->source ? 2 : 1;
    CS_REQUIRE(options->n_words <= most, CS_BAD_USAGE, "list %s: found \"%s\" too: list shows one list or all of them",
               list->kind, options->words[most]);
    return print_list(list, options->n_words > 1 ? options->words[1] : NULL, arena);
}

int cs_verb_list(int argc, char **argv) {
    struct cs_arena arena = {0};
    struct cs_options options;
    enum cs_status status = cs_options_parse(&options, NULL, argc, argv, &arena);
    if (status == CS_OK) status = list_words(&options, &arena);
    cs_arena_release(&arena);
    return status == CS_OK ? CS_EXIT_PASSED : cs_cli_fail(status);
}
