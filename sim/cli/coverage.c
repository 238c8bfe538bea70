/* The verb `coverage`: joins what runs saw, says what nobody tried, and tries it. */
#include <errno.h>
#include <string.h>

#include "sim/cli/tour.h"

/* clang-format off */
const struct cs_option cs_coverage_options[] = {
    {"next", 0, "N|orders|pairs|all|illegal", CS_ONCE, "take N ways of loading, those that hit most of what was never hit; or every order of operations; and every pair; and every triple; or try every illegal pair, which must be refused"},
    {"hit", 0, "CELL", CS_REPEATED, "take a way of loading with these values: driver=direct,policy=none; or operations in an order: order=cold_start+sleep+direct"},
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

/* ---- reports ---- */

static enum cs_status write_html(struct tour *tour, const char *path) {
    struct cs_coverage_page page = {.now = &tour->coverage,
                                    .kill_matrix = cs_options_value(&tour->options, "kill-matrix"),
                                    .gcovr = cs_options_value(&tour->options, "gcovr")};
    struct cs_coverage previous;
    const char *earlier = cs_options_value(&tour->options, "previous");
    cs_coverage_init(&previous, &tour->model, &tour->arena);
    if (earlier) CS_TRY(cs_coverage_read(earlier, &previous));
    page.previous = earlier ? &previous : NULL;
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
    const char *check = cs_options_value(&tour->options, "check");
    enum cs_coverage_asked asked = !check                          ? CS_ASKED_NOTHING
                                   : cs_text_equal(check, "pairs") ? CS_ASKED_PAIRS
                                                                   : CS_ASKED_TRIPLES;
    if (status == CS_OK) status = cs_coverage_text(stdout, &tour->coverage, asked);
    if (status == CS_OK && asked) status = cs_coverage_is_enough(&tour->coverage, asked, &answer);
    if (status != CS_OK) return cs_cli_fail(status);
    if (tour->n_missed)
        printf(
            "failed: %zu of %zu runs did not hit what they were made for; the lines that begin with MISSED say why\n",
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

/* Options that do nothing without another one. */
static enum cs_status check_alone(const struct cs_options *options) {
    static const char *const needs[][2] = {
        {"lua", "hit"}, {"previous", "html"}, {"kill-matrix", "html"}, {"gcovr", "html"}};
    for (size_t i = 0; i < CS_COUNT(needs); i++)
        CS_REQUIRE(!cs_options_value(options, needs[i][0]) || cs_options_value(options, needs[i][1]), CS_BAD_USAGE,
                   "--%s goes with --%s: give both", needs[i][0], needs[i][1]);
    CS_REQUIRE(!cs_options_value(options, "lua") || !cs_options_value(options, "next"), CS_BAD_USAGE,
               "--lua prints the file of --hit, --next runs its own: give one of them");
    return CS_OK;
}

static int join(struct tour *tour) {
    bool has_seed = false,
         has_work = cs_options_value(&tour->options, "next") || cs_options_value(&tour->options, "hit");
    enum cs_status status = check_alone(&tour->options);
    if (status == CS_OK) status = cs_options_seed(&tour->options, &has_seed, &tour->seed);
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
    if (status == CS_OK) status = cs_tour_take(tour);
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
