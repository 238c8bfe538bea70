/* The output folder of a campaign: campaign.json, which says how far it is, and a scenario for each failure. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/fuzz_json.h"

static const char *path_in(const struct cs_campaign *campaign, struct cs_arena *arena, const char *name) {
    return cs_arena_format(arena, "%s/%s", campaign->output, name);
}

/* ---- failures ---- */

enum cs_status cs_store_failure(struct cs_campaign *campaign, struct cs_fuzz_failure *failure) {
    struct cs_arena *arena = &campaign->arena;
    struct cs_scenario scenario;
    char plan[CS_PLAN_TEXT];
    const char *comment[CS_FUZZ_LINES + 2];
    size_t n = 0;
    comment[n++] = cs_arena_format(arena, "fingerprint: %s", failure->fingerprint);
    comment[n++] = cs_arena_format(arena, "plan: %s", cs_fuzz_plan_text(&failure->plan, plan));
    for (size_t i = 0; i < failure->n_lines; i++) comment[n++] = failure->lines[i];
    CS_TRY(cs_fuzz_scenario(&failure->plan, failure->name, arena, &scenario));
    scenario.defects = cs_fuzz_defects(&failure->plan, failure->defects);
    const char *text = cs_scenario_lua(&scenario, comment, n, arena);
    CS_REQUIRE(text && failure->file, CS_NO_MEMORY, "no memory for \"%s\"", failure->name);
    return cs_write_text(failure->file, text);
}

/* ---- the corpus ---- */

/* The plan of one file, or false. */
static enum cs_status read_plan(const char *path, struct cs_fuzz_plan *plan, bool *has_plan) {
    static const char mark[] = "-- plan: ";
    char line[CS_PLAN_TEXT + 64];
    FILE *file;
    *has_plan = false;
    CS_TRY(cs_open_to_read(path, &file));
    while (!*has_plan && fgets(line, sizeof line, file)) *has_plan = strncmp(line, mark, strlen(mark)) == 0;
    fclose(file);
    if (!*has_plan) return CS_OK;
    enum cs_status status = cs_fuzz_plan_parse(line + strlen(mark), plan);
    CS_REQUIRE(status == CS_OK, CS_BAD_FILE, "%s: %s", path, cs_error_text());
    return CS_OK;
}

enum cs_status cs_corpus_read(const char *path, struct cs_arena *arena, struct cs_fuzz_plan **plans, size_t *n) {
    struct cs_paths paths = {0};
    CS_TRY(cs_find_scripts(path, arena, &paths));
    *plans = CS_NEW_ARRAY(arena, struct cs_fuzz_plan, paths.n + 1);
    CS_REQUIRE(*plans, CS_NO_MEMORY, "no memory for a corpus of %zu files", paths.n);
    *n = 0;
    for (size_t i = 0; i < paths.n; i++) {
        bool has_plan;
        CS_TRY(read_plan(paths.items[i].text, &(*plans)[*n], &has_plan));
        CS_REQUIRE(has_plan || !paths.items[i].is_named, CS_BAD_FILE, "%s: no line \"-- plan: …\": no scenario of a campaign",
                   paths.items[i].text);
        *n += has_plan;
    }
    return CS_OK;
}

/* ---- the state ---- */

enum cs_status cs_store_state(const struct cs_campaign *campaign) {
    struct cs_arena scratch = {0};
    const char *path = path_in(campaign, &scratch, "campaign.json");
    enum cs_status status = path ? cs_campaign_write(path, campaign) : CS_NO_MEMORY;
    cs_arena_release(&scratch);
    return status;
}

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

/* A state of another campaign must not be mixed with this one. */
static enum cs_status check_same(const struct cs_campaign *campaign, const json_t *state) {
    const char *seed = text_of(state, "seed"), *made_by = text_of(state, "options"), *none = "none",
               *had = text_of(state, "canary") ? text_of(state, "canary") : none,
               *has = campaign->canary_name ? campaign->canary_name : none;
    bool is_same = cs_text_equal(seed, campaign->seed_text) && cs_text_equal(made_by, campaign->options_text) &&
                   json_integer_value(json_object_get(state, "shard_index")) == (json_int_t)campaign->shard.index &&
                   json_integer_value(json_object_get(state, "shard_count")) == (json_int_t)campaign->shard.n;
    CS_REQUIRE(is_same, CS_BAD_USAGE,
               "--output-dir %s: holds another campaign (seed %s, %s): name another folder, or remove campaign.json",
               campaign->output, seed, made_by);
    CS_REQUIRE(cs_text_equal(had, has), CS_BAD_USAGE,
               "--output-dir %s: holds a campaign with --canary %s, found --canary %s: give the same canary, name another "
               "folder, or remove campaign.json",
               campaign->output, had, has);
    return CS_OK;
}

/* Which plans were done follows from how many: the fixed ones of this shard come first. */
static enum cs_status check_done(const struct cs_campaign *campaign) {
    const struct cs_fuzz_shard *shard = &campaign->shard;
    uint64_t n_fixed = cs_stream_n_fixed(campaign->stream);
    uint64_t n_own = n_fixed > shard->index ? (n_fixed - shard->index - 1) / shard->n + 1 : 0;
    uint64_t n_random = (uint64_t)campaign->n_of_part[CS_PART_RANDOM], n_done = campaign->n_done - n_random;
    uint64_t n_wanted = campaign->n_done < n_own ? campaign->n_done : n_own;
    CS_REQUIRE(n_done == n_wanted, CS_BAD_FILE,
               "%s/campaign.json: plans: found %" PRIu64 ", %" PRIu64 " of them random, expected %" PRIu64
               " of them random: damaged, or of another release: name another folder, or remove it",
               campaign->output, campaign->n_done, n_random, campaign->n_done - n_wanted);
    return CS_OK;
}

/* Plans at random that were done are not undone. */
static enum cs_status check_runs(const struct cs_campaign *campaign) {
    const struct cs_fuzz_shard *shard = &campaign->shard;
    if (!campaign->n_of_part[CS_PART_RANDOM]) return CS_OK;
    uint64_t last = shard->index + (campaign->n_done - 1) * shard->n, /* of the stream */
             n_runs = last + 1 - cs_stream_n_fixed(campaign->stream);
    CS_REQUIRE(n_runs <= campaign->most_random, CS_BAD_USAGE,
               "--runs: found %" PRIu64 ", expected %" PRIu64 " or more: %s holds a campaign that has done so many: give "
               "--runs %" PRIu64 " or more, or name another folder",
               campaign->most_random, n_runs, campaign->output, n_runs);
    return CS_OK;
}

/* The canary's, if the failure is one that needs it. */
static cs_defect_set defects_of(const char *fingerprint) {
    static const char mark[] = "canary ";
    enum cs_defect defect;
    char name[64];
    if (strncmp(fingerprint, mark, strlen(mark)) != 0) return 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(fingerprint + strlen(mark), ":"), fingerprint + strlen(mark));
    return cs_defect_parse(name, &defect) == CS_OK ? CS_DEFECT_BIT(defect) : 0;
}

static enum cs_status restore_failure(struct cs_campaign *campaign, const json_t *from) {
    void *items = campaign->failures;
    struct cs_fuzz_failure *failure =
        cs_arena_grow(&campaign->arena, &items, campaign->n_failures, &campaign->capacity, sizeof *failure);
    const char *plan = text_of(from, "plan"), *fingerprint = text_of(from, "fingerprint"), *name = text_of(from, "name");
    CS_REQUIRE(failure, CS_NO_MEMORY, "no memory for failure %zu", campaign->n_failures + 1);
    campaign->failures = items;
    *failure = (struct cs_fuzz_failure){0};
    CS_REQUIRE(cs_fuzz_plan_parse(plan, &failure->plan) == CS_OK, CS_BAD_FILE,
               "%s/campaign.json: failures[%zu].plan: %s", campaign->output, campaign->n_failures, cs_error_text());
    failure->found = failure->plan;
    snprintf(failure->fingerprint, sizeof failure->fingerprint, "%s", fingerprint);
    failure->defects = defects_of(fingerprint);
    failure->name = cs_arena_text(&campaign->arena, name);
    failure->file = text_of(from, "file") ? cs_arena_text(&campaign->arena, text_of(from, "file")) : NULL;
    failure->number = (uint64_t)json_integer_value(json_object_get(from, "number"));
    failure->n_times = json_integer_value(json_object_get(from, "times"));
    failure->n_runs = (size_t)json_integer_value(json_object_get(from, "shrink_runs"));
    failure->seconds = json_number_value(json_object_get(from, "shrink_seconds"));
    failure->is_minimal = json_is_true(json_object_get(from, "minimal"));
    failure->is_flaky = json_is_true(json_object_get(from, "flaky"));
    const json_t *line;
    size_t i;
    json_array_foreach(json_object_get(from, "text"), i, line)
        failure->lines[failure->n_lines++] = cs_arena_text(&campaign->arena, json_string_value(line));
    campaign->n_failures++;
    return CS_OK;
}

static enum cs_status restore(struct cs_campaign *campaign, const json_t *state) {
    CS_TRY(check_same(campaign, state));
    campaign->n_resumed = campaign->n_done = (uint64_t)json_integer_value(json_object_get(state, "plans"));
    campaign->n_refused = json_integer_value(json_object_get(state, "refused"));
    campaign->seconds_before = json_number_value(json_object_get(state, "seconds"));
    for (int part = 0; part < CS_N_PARTS; part++)
        campaign->n_of_part[part] = json_integer_value(
            json_object_get(json_object_get(state, "parts"), cs_part_name((enum cs_part)part)));
    CS_TRY(check_done(campaign));
    CS_TRY(check_runs(campaign));
    campaign->first_canary = json_integer_value(json_object_get(state, "canary_found_at"));
    campaign->canary_seconds = -1;
    const json_t *failure;
    size_t i;
    json_array_foreach(json_object_get(state, "failures"), i, failure) CS_TRY(restore_failure(campaign, failure));
    return CS_OK;
}

enum cs_status cs_store_open(struct cs_campaign *campaign) {
    const char *path = path_in(campaign, &campaign->arena, "campaign.json");
    CS_REQUIRE(path, CS_NO_MEMORY, "no memory for \"%s\"", campaign->output);
    struct stat found;
    if (stat(path, &found) != 0) return cs_store_state(campaign); /* unwritable: better said now than after hours */
    /* what the plans before did is not in the state: the file would hold the rest alone */
    CS_REQUIRE(!cs_options_value(&campaign->options, "coverage"), CS_BAD_USAGE,
               "--coverage with --output-dir %s, which holds a campaign that was begun: plans done before would be missing "
               "from the coverage: name another folder, or leave one of the two out",
               campaign->output);
    json_t *state;
    CS_TRY(cs_campaign_read(path, &state));
    enum cs_status status = restore(campaign, state);
    json_decref(state);
    return status;
}
