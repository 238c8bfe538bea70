/* The verb `coverage`: joins what runs saw, says what nobody tried, and tries it. */
#include "sim/coverage/coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/run.h"

/* clang-format off */
const struct cs_option cs_coverage_options[] = {
    {"next", 0, "N|pairs|all", CS_ONCE, "take N ways of loading, those that hit most of what was never hit; or until every pair, or triple too, is hit"},
    {"hit", 0, "CELL", CS_REPEATED, "take a way of loading with these values: driver=direct,policy=none"},
    {"lua", 0, NULL, CS_ONCE, "with --hit: print the file instead of running it"},
    {"output-dir", 0, "DIR", CS_ONCE, "keep the files that --next and --hit make, in this folder"},
    {"seed", 0, "N", CS_ONCE, "seed of what --next and --hit choose (default: 1)"},
    {"check", 0, "pairs|all", CS_ONCE, "exit status 1 when too few pairs, or triples too, are hit, or an illegal load was accepted"},
    {"json", 0, "FILE", CS_WRITTEN, "write all of it joined, to be read again"},
    {"markdown", 0, "FILE", CS_WRITTEN, "write the support matrix: method, back end, driver"},
    {"html", 0, "FILE", CS_WRITTEN, "write one page that needs nothing else"},
    {"previous", 0, "FILE", CS_ONCE, "with --html: compare with an earlier coverage file"},
    {"kill-matrix", 0, "FILE", CS_ONCE, "with --html: show what `mutants --json` wrote"},
    {"gcovr", 0, "ADDRESS", CS_ONCE, "with --html: where gcovr's page is, seen from this one"},
    {0},
};
/* clang-format on */

enum { MOST_NEXT = 1000000 };

struct tour {
    struct cs_arena arena;
    struct cs_options options;
    struct cs_coverage_model model;
    struct cs_coverage coverage;
    struct cs_way path; /* that is being taken */
    const char *folder;
    const char *reason; /* why the latest scenario did not pass, or NULL */
    size_t n_taken, n_missed;
    bool is_temporary;
    uint64_t seed;
};

static enum cs_status open_tour(struct tour *tour) {
    struct cs_coverage_registries registries = cs_coverage_own_registries();
    CS_TRY(cs_coverage_model(&tour->model, &registries, &tour->arena));
    cs_coverage_init(&tour->coverage, &tour->model, &tour->arena);
    return CS_OK;
}

/* Devices that no run had are nobody's fault here. */
static void note_devices(struct tour *tour) {
    for (size_t p = 0; p < tour->coverage.n_paths; p++)
        tour->model.has_device[tour->coverage.paths[p].path.value[CS_PATH_device]] = true;
}

/* ---- taking a path ---- */

static enum cs_status note(void *context, const struct cs_verdict *verdict) {
    struct tour *tour = context;
    tour->reason = verdict->refused_reason ? verdict->refused_reason : verdict->reason;
    return cs_coverage_note(&tour->coverage, verdict->scenario, verdict);
}
static void ignore_progress(void *context, double n_done, int64_t bytes) { (void)context, (void)n_done, (void)bytes; }

static int64_t n_tried(const struct tour *tour) {
    for (size_t p = 0; p < tour->coverage.n_paths; p++)
        if (memcmp(&tour->coverage.paths[p].path, &tour->path, sizeof tour->path) == 0)
            return tour->coverage.paths[p].accepted + tour->coverage.paths[p].refused;
    return 0;
}

static enum cs_status make_folder(struct tour *tour) {
    if (tour->folder) return CS_OK;
    tour->folder = cs_options_value(&tour->options, "output-dir");
    if (tour->folder) return cs_options_make_output(tour->folder);
    const char *temporary = getenv("TMPDIR");
    char *made = cs_arena_format(&tour->arena, "%s/coldstart_coverage_XXXXXX", temporary ? temporary : "/tmp");
    CS_REQUIRE(made, CS_NO_MEMORY, "no memory for the name of a folder");
    CS_REQUIRE(mkdtemp(made), CS_BAD_FILE, "%s: cannot be made: %s: set TMPDIR, or name a folder with --output-dir",
               made, strerror(errno));
    tour->folder = made;
    tour->is_temporary = true;
    return CS_OK;
}

/* Runs the file on the path's device. A scenario that is refused, or fails, has been taken all the same. */
static enum cs_status run_file(struct tour *tour, const char *path, struct cs_arena *arena) {
    struct cs_scenario scenario;
    CS_TRY(cs_script_load(path, arena, &scenario));
    struct cs_run run = {.n_devices = 1, .n_repeats = 1, .n_jobs = 1};
    run.devices[0] = cs_device_by_name(tour->model.axis[CS_PATH_device].values[tour->path.value[CS_PATH_device]]);
    const struct cs_run_listener listener = {tour, note, ignore_progress};
    return cs_run_scenario(&run, &scenario, arena, &listener);
}

static enum cs_status take(struct tour *tour) {
    char cell[CS_CELL_TEXT];
    struct cs_arena arena = {0};
    CS_TRY(make_folder(tour));
    const char *name = cs_arena_format(&tour->arena, "coverage.%zu", tour->n_taken + 1);
    const char *path = cs_arena_format(&arena, "%s/%zu.lua", tour->folder, tour->n_taken + 1);
    char *lua = cs_path_lua(&tour->model, &tour->path, name, &arena);
    int64_t before = n_tried(tour);
    tour->reason = NULL;
    enum cs_status status = lua && path && name ? cs_write_text(path, lua) : cs_fail(CS_NO_MEMORY, "no memory for a file");
    enum cs_status ran = status == CS_OK ? run_file(tour, path, &arena) : status;
    tour->n_taken++;
    bool is_hit = n_tried(tour) > before;
    tour->n_missed += !is_hit;
    const char *why = ran == CS_OK ? (tour->reason ? tour->reason : "it ran") : cs_error_text();
    printf("%s  %s%s%s\n", is_hit ? "hit   " : "MISSED", cs_cell_text(&tour->model, &tour->path, cell),
           is_hit ? "" : ": ", is_hit ? "" : why);
    if (tour->is_temporary) unlink(path);
    cs_arena_release(&arena);
    return status == CS_OK && (ran == CS_NO_MEMORY || ran == CS_INTERNAL) ? ran : status;
}

/* ---- which paths ---- */

static enum cs_status hit(struct tour *tour, const char *text) {
    struct cs_way cell;
    const char *reason;
    CS_TRY(cs_cell_parse(&tour->model, text, &cell));
    if (cell.value[CS_PATH_device] != CS_PATH_ANY) tour->model.has_device[cell.value[CS_PATH_device]] = true;
    enum cs_path_state state = cs_cell_judge(&tour->model, &cell, &reason, NULL);
    CS_REQUIRE(state == CS_PATH_VALID, CS_BAD_USAGE, "--hit %s: %s: %s", text, cs_path_state_name(state), reason);
    if (!cs_coverage_complete(&tour->coverage, NULL, &cell, tour->seed, &tour->path))
        return cs_fail(CS_INTERNAL, "--hit %s: no way found", text);
    if (!cs_options_value(&tour->options, "lua")) return take(tour);
    char *lua = cs_path_lua(&tour->model, &tour->path, "coverage.hit", &tour->arena);
    CS_REQUIRE(lua, CS_NO_MEMORY, "no memory for a file");
    fputs(lua, stdout);
    return CS_OK;
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
                cross->hits[cs_cross_index(&tour->model, cross, &seen->path)]++;
            }
}

static enum cs_status take_next(struct tour *tour, size_t n, int n_kinds) {
    struct next next = {.n_kinds = n_kinds};
    struct cs_way cell;
    CS_TRY(cs_cells_count(&tour->coverage, 2, &tour->arena, &next.cells[0]));
    CS_TRY(cs_cells_count(&tour->coverage, 3, &tour->arena, &next.cells[1]));
    while (n-- && find_never(tour, &next, &cell)) {
        size_t n_paths = tour->coverage.n_paths;
        if (!cs_coverage_complete(&tour->coverage, &next.cells[1], &cell, tour->seed + n, &tour->path))
            return cs_fail(CS_INTERNAL, "a valid cell has no way through it");
        CS_TRY(take(tour));
        mark(tour, &next, n_paths);
    }
    return CS_OK;
}

static enum cs_status take_wanted(struct tour *tour) {
    for (size_t i = 0; i < tour->options.n_given; i++)
        if (cs_text_equal(tour->options.given[i].option->name, "hit")) CS_TRY(hit(tour, tour->options.given[i].value));
    const char *next = cs_options_value(&tour->options, "next");
    if (!next) return CS_OK;
    bool is_pairs = cs_text_equal(next, "pairs");
    if (is_pairs || cs_text_equal(next, "all")) return take_next(tour, MOST_NEXT, is_pairs ? 1 : 2);
    char *end;
    unsigned long n = strtoul(next, &end, 10);
    CS_REQUIRE(*next && !*end && n >= 1 && n <= MOST_NEXT, CS_BAD_USAGE,
               "--next wants a number from 1 to %d, \"pairs\" or \"all\", found \"%s\"", MOST_NEXT, next);
    return take_next(tour, n, 2);
}

/* ---- reports ---- */

static enum cs_status read_text(const char *path, struct cs_arena *arena, char **text) {
    FILE *in = fopen(path, "r");
    CS_REQUIRE(in, CS_BAD_FILE, "cannot read \"%s\": %s", path, strerror(errno));
    enum { MOST = 64 << 20 };
    size_t size = fseek(in, 0, SEEK_END) == 0 ? (size_t)ftell(in) : MOST + 1;
    rewind(in);
    *text = size <= MOST ? cs_arena_alloc(arena, size + 1, 1) : NULL;
    bool is_read = *text && fread(*text, 1, size, in) == size;
    fclose(in);
    CS_REQUIRE(is_read, CS_BAD_FILE, "cannot read \"%s\" whole: it has %zu bytes, at most %d are taken", path, size, MOST);
    return CS_OK;
}

static enum cs_status write_html(struct tour *tour, const char *path) {
    struct cs_coverage_page page = {.now = &tour->coverage, .gcovr = cs_options_value(&tour->options, "gcovr")};
    struct cs_coverage previous;
    const char *earlier = cs_options_value(&tour->options, "previous");
    const char *kills = cs_options_value(&tour->options, "kill-matrix");
    char *text = NULL;
    cs_coverage_init(&previous, &tour->model, &tour->arena);
    if (earlier) CS_TRY(cs_coverage_read(earlier, &previous));
    if (kills) CS_TRY(read_text(kills, &tour->arena, &text));
    page.previous = earlier ? &previous : NULL;
    page.kill_matrix = text;
    return cs_coverage_html(path, &page);
}

static enum cs_status write_reports(struct tour *tour) {
    const char *json = cs_options_value(&tour->options, "json"), *html = cs_options_value(&tour->options, "html"),
               *markdown = cs_options_value(&tour->options, "markdown");
    if (json) CS_TRY(cs_coverage_write(json, &tour->coverage));
    if (markdown) CS_TRY(cs_coverage_markdown(markdown, &tour->coverage));
    return html ? write_html(tour, html) : CS_OK;
}

static int report(struct tour *tour) {
    bool answer = true;
    enum cs_status status = write_reports(tour);
    if (status == CS_OK) status = cs_coverage_text(stdout, &tour->coverage);
    const char *check = cs_options_value(&tour->options, "check");
    if (status == CS_OK && check)
        status = cs_coverage_is_enough(&tour->coverage, cs_text_equal(check, "pairs"), &answer);
    if (status != CS_OK) return cs_cli_fail(status);
    if (tour->n_missed)
        printf(
            "failed: %zu of %zu ways of loading taken did not reach their cell; the lines that begin with MISSED say "
            "why\n",
            tour->n_missed, tour->n_taken);
    if (!answer)
        printf("failed: --check %s: fewer cells are hit than it wants, or an illegal load was accepted\n", check);
    return answer && !tour->n_missed ? CS_EXIT_PASSED : CS_EXIT_FAILED;
}

/* ---- the verb ---- */

static int diff(struct tour *tour) {
    struct cs_coverage old;
    int64_t n_lost = 0;
    enum cs_status status =
        tour->options.n_words == 3 ? CS_OK : cs_fail(CS_BAD_USAGE, "diff: two coverage files, the old one first");
    cs_coverage_init(&old, &tour->model, &tour->arena);
    if (status == CS_OK) status = cs_coverage_read(tour->options.words[1], &old);
    if (status == CS_OK) status = cs_coverage_read(tour->options.words[2], &tour->coverage);
    note_devices(tour);
    if (status == CS_OK) status = cs_coverage_diff(stdout, &old, &tour->coverage, &n_lost);
    if (status != CS_OK) return cs_cli_fail(status);
    return n_lost ? CS_EXIT_FAILED : CS_EXIT_PASSED;
}

static int join(struct tour *tour) {
    bool has_seed = false,
         has_work = cs_options_value(&tour->options, "next") || cs_options_value(&tour->options, "hit");
    enum cs_status status = cs_options_seed(&tour->options, &has_seed, &tour->seed);
    if (!has_seed) tour->seed = 1;
    if (status == CS_OK && !tour->options.n_words && !has_work)
        status =
            cs_fail(CS_BAD_USAGE, "name coverage files, as `run --coverage FILE` writes them, or give --next or --hit");
    for (size_t i = 0; status == CS_OK && i < tour->options.n_words; i++)
        status = cs_coverage_read(tour->options.words[i], &tour->coverage);
    note_devices(tour);
    const char *check = cs_options_value(&tour->options, "check"), *const known[] = {"all", "pairs"};
    if (status == CS_OK && check && !cs_text_equal(check, "all") && !cs_text_equal(check, "pairs"))
        status = cs_cli_unknown("--check", check, known, CS_COUNT(known));
    if (status == CS_OK) status = take_wanted(tour);
    if (tour->is_temporary) rmdir(tour->folder);
    if (status != CS_OK) return cs_cli_fail(status);
    return cs_options_value(&tour->options, "lua") ? CS_EXIT_PASSED : report(tour);
}

int cs_verb_coverage(int argc, char **argv) {
    struct tour tour = {0};
    int exit;
    enum cs_status status = cs_options_parse(&tour.options, cs_coverage_options, argc, argv, &tour.arena);
    if (status == CS_OK) status = open_tour(&tour);
    if (status != CS_OK)
        exit = cs_cli_fail(status);
    else
        exit = tour.options.n_words && cs_text_equal(tour.options.words[0], "diff") ? diff(&tour) : join(&tour);
    cs_arena_release(&tour.arena);
    return exit;
}
