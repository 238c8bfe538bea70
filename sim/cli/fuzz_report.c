/* What a campaign says: as text, as JSON, as JUnit. */
#include <jansson.h>
#include <string.h>

#include "sim/cli/fuzz_json.h"

static double seconds_of(const struct cs_campaign *campaign) {
    return campaign->seconds_before + cs_progress_now() - campaign->start;
}

void cs_campaign_print_head(const struct cs_campaign *campaign) {
    const struct cs_axes_cover *axes = cs_stream_axes(campaign->stream);
    const struct cs_orders_cover *orders = cs_stream_orders(campaign->stream);
    fprintf(campaign->text,
            "guaranteed: %" PRId64 " combinations of %d axis values in %zu plans (%" PRId64 " more cannot be had)\n", axes->n_tuples,
            axes->t, axes->n_rows, axes->n_impossible);
    fprintf(campaign->text, "guaranteed: %" PRId64 " of %" PRId64 " orders of %d of %zu steps; counted again: %" PRId64 " combinations, %" PRId64 " orders\n",
            campaign->recount.orders, orders->n_orders, orders->t, cs_n_letters(), campaign->recount.tuples,
            campaign->recount.orders);
    if (campaign->shard.source)
        fprintf(campaign->text, "shard %" PRIu64 " of %" PRIu64 " (%s)\n", campaign->shard.index, campaign->shard.n,
                campaign->shard.source);
    if (campaign->n_resumed) fprintf(campaign->text, "goes on after %" PRIu64 " plans\n", campaign->n_resumed);
    fflush(campaign->text);
}

void cs_campaign_print_failure(const struct cs_campaign *campaign, const struct cs_fuzz_failure *failure) {
    fprintf(campaign->text, "FAILED  %s  %s\n", failure->name, failure->fingerprint);
    for (size_t i = 0; i < failure->n_lines; i++) fprintf(campaign->text, "  %s\n", failure->lines[i]);
    fflush(campaign->text);
}

static void print_canary(const struct cs_campaign *campaign) {
    if (!campaign->canary) return;
    const char *name = campaign->canary_name;
    int64_t first = campaign->first_canary, n = campaign->n_canary_runs > first ? campaign->n_canary_runs : first;
    if (first >= 0 && campaign->canary_seconds < 0)
        fprintf(campaign->text, "canary %s: found by its plan %" PRId64 " of %" PRId64 ", in an earlier run\n", name, first, n);
    else if (first >= 0)
        fprintf(campaign->text, "canary %s: found by its plan %" PRId64 " of %" PRId64 ", after %.1f s\n", name, first, n,
                campaign->canary_seconds);
    else
        fprintf(campaign->text, "canary %s: NOT found in %" PRId64 " plans: the silence of this campaign means nothing\n", name,
                campaign->n_canary_runs);
}

void cs_campaign_print_summary(const struct cs_campaign *campaign) {
    double seconds = seconds_of(campaign);
    uint64_t n_new = campaign->n_done - campaign->n_resumed;
    print_canary(campaign);
    for (int part = 0; part < CS_N_PARTS; part++)
        fprintf(campaign->text, "%s%" PRId64 " %s", part ? ", " : "plans: ", campaign->n_of_part[part],
                cs_part_name((enum cs_part)part));
    fprintf(campaign->text, "; %" PRId64 " refused as they must be, or in a step that may be\n", campaign->n_refused);
    int64_t n_orders;
    if (campaign->n_ran && cs_campaign_count_ran(campaign, &n_orders) == CS_OK)
        fprintf(campaign->text, "orders that ran to their end: %" PRId64 "; in the others a step was refused where it came\n",
                n_orders);
    fprintf(campaign->text, "%" PRIu64 " plans in %.1f s, %.0f a second; %zu paths (step and back end)\n%zu unique failures\n",
            campaign->n_done, seconds, (double)n_new / (cs_progress_now() - campaign->start), campaign->n_paths,
            campaign->n_failures);
    fflush(campaign->text);
}

/* ---- JSON ---- */

/* Takes over `item`. False: no memory, for the item or for its place, and nothing may be left out. */
static bool append(json_t *array, json_t *item) { return json_array_append_new(array, item) == 0; }

static json_t *lines_of(const struct cs_fuzz_failure *failure) {
    json_t *lines = json_array();
    bool is_whole = true;
    for (size_t i = 0; i < failure->n_lines && is_whole; i++) is_whole = append(lines, cs_json_text(failure->lines[i]));
    if (is_whole) return lines;
    json_decref(lines);
    return NULL;
}

static json_t *json_of_failure(const struct cs_fuzz_failure *failure) {
    char text[CS_PLAN_TEXT];
    return json_pack("{s:s, s:o, s:s, s:o, s:I, s:I, s:I, s:f, s:b, s:b, s:o}", "name", failure->name, "fingerprint",
                     cs_json_text(failure->fingerprint), "plan", cs_fuzz_plan_text(&failure->plan, text), "file",
                     failure->file ? cs_json_text(failure->file) : json_null(), "number", (json_int_t)failure->number, "times", (json_int_t)failure->n_times, "shrink_runs",
                     (json_int_t)failure->n_runs, "shrink_seconds", failure->seconds, "minimal", failure->is_minimal,
                     "flaky", failure->is_flaky, "text", lines_of(failure));
}

static json_t *failures_of(const struct cs_campaign *campaign) {
    json_t *failures = json_array();
    bool is_whole = true;
    for (size_t i = 0; i < campaign->n_failures && is_whole; i++)
        is_whole = append(failures, json_of_failure(&campaign->failures[i]));
    if (is_whole) return failures;
    json_decref(failures);
    return NULL;
}

json_t *cs_campaign_json(const struct cs_campaign *campaign) {
    json_t *failures = failures_of(campaign), *parts = json_object();
    for (int part = 0; part < CS_N_PARTS; part++)
        json_object_set_new(parts, cs_part_name((enum cs_part)part), json_integer(campaign->n_of_part[part]));
    const char *canary = campaign->canary_name;
    return json_pack(
        "{s:i, s:s, s:s, s:i, s:i, s:I, s:I, s:b, s:I, s:I, s:I, s:f, s:o, s:{s:I, s:I, s:I}, s:s?, s:I, s:o}", "schema", 1, "seed",
        campaign->seed_text, "options", campaign->options_text, "strength", campaign->stream_options.t, "depth", campaign->stream_options.depth,
        "shard_index", (json_int_t)campaign->shard.index, "shard_count", (json_int_t)campaign->shard.n, "finished",
        campaign->is_finished, "plans",
        (json_int_t)campaign->n_done, "refused", (json_int_t)campaign->n_refused, "paths", (json_int_t)campaign->n_paths,
        "seconds", seconds_of(campaign), "parts", parts, "guaranteed", "combinations",
        (json_int_t)campaign->recount.tuples, "orders", (json_int_t)campaign->recount.orders, "impossible",
        (json_int_t)cs_stream_axes(campaign->stream)->n_impossible, "canary", canary, "canary_found_at",
        (json_int_t)campaign->first_canary, "failures", failures);
}

enum cs_status cs_campaign_write(const char *path, const struct cs_campaign *campaign) {
    json_t *object = cs_campaign_json(campaign);
    enum cs_status status = cs_write_json(path, object, JSON_INDENT(2));
    json_decref(object);
    return status;
}

/* ---- JUnit, from the JSON: one test case for each part, one for each failure ---- */

static void write_escaped(FILE *file, const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '<')
            fputs("&lt;", file);
        else if (*c == '>')
            fputs("&gt;", file);
        else if (*c == '&')
            fputs("&amp;", file);
        else if (*c == '"')
            fputs("&quot;", file);
        else if (*c >= 0x20 || *c == '\t')
            fputc(*c, file);
    }
}

static void write_failure(FILE *file, const json_t *failure) {
    const json_t *line, *text = json_object_get(failure, "text");
    size_t i;
    fputs("    <testcase classname=\"coldstart.fuzz\" name=\"", file);
    write_escaped(file, json_string_value(json_object_get(failure, "name")));
    fputs("\">\n      <failure message=\"", file);
    write_escaped(file, json_string_value(json_object_get(failure, "fingerprint")));
    fputs("\">", file);
    json_array_foreach(text, i, line) {
        write_escaped(file, json_string_value(line));
        fputc('\n', file);
    }
    fputs("</failure>\n    </testcase>\n", file);
}

static enum cs_status put_junit(FILE *file, const void *what) {
    const json_t *result = what;
    const json_t *failures = json_object_get(result, "failures"), *parts = json_object_get(result, "parts"), *item;
    size_t i, n = json_array_size(failures);
    const char *part;
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"coldstart fuzz\" tests=\"%zu\" "
            "failures=\"%zu\" time=\"%.3f\">\n",
            n + json_object_size(parts), n, json_real_value(json_object_get(result, "seconds")));
    json_object_foreach((json_t *)(uintptr_t)parts, part, item)
        fprintf(file, "    <testcase classname=\"coldstart.fuzz\" name=\"%s: %" JSON_INTEGER_FORMAT " plans\"/>\n", part,
                json_integer_value(item));
    json_array_foreach(failures, i, item) write_failure(file, item);
    fputs("  </testsuite>\n</testsuites>\n", file);
    return CS_OK;
}

enum cs_status cs_write_junit(const char *path, const json_t *result) { return cs_write_with(path, put_junit, result); }

enum cs_status cs_campaign_reports(const struct cs_campaign *campaign) {
    if (campaign->json) CS_TRY(cs_campaign_write(campaign->json, campaign));
    if (!campaign->junit) return CS_OK;
    json_t *result = cs_campaign_json(campaign);
    CS_REQUIRE(result, CS_NO_MEMORY, "no memory for \"%s\"", campaign->junit);
    enum cs_status status = cs_write_junit(campaign->junit, result);
    json_decref(result);
    return status;
}
