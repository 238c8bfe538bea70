/* The verb `merge`: the results of the shards of one campaign, joined. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/fuzz_json.h"

/* clang-format off */
const struct cs_option cs_merge_options[] = {
    {"json", 0, "FILE", CS_WRITTEN, "write the joined result as JSON"},
    {"junit", 0, "FILE", CS_WRITTEN, "write it as JUnit"},
    {0},
};
/* clang-format on */

enum { MOST_SHARDS = 1 << 20 };

struct merging {
    struct cs_options options;
    json_t *result;    /* NULL before the first shard */
    uint8_t *has_shard; /* of shard_count */
    size_t n_shards;
};

static int64_t integer_of(const json_t *object, const char *key) {
    return json_integer_value(json_object_get(object, key));
}

/* A campaign that was interrupted may not have come to the plans that fail. */
static enum cs_status check_finished(const char *path, const json_t *result) {
    CS_REQUIRE(json_is_true(json_object_get(result, "finished")), CS_BAD_FILE,
               "%s: finished: found false after %" PRId64 " plans, expected true: the campaign was interrupted, or still runs; "
               "run the same command again: it goes on where it ended",
               path, integer_of(result, "plans"));
    return CS_OK;
}

static enum cs_status read_result(const char *word, struct cs_arena *arena, json_t **result) {
    struct stat found;
    bool is_folder = stat(word, &found) == 0 && S_ISDIR(found.st_mode);
    const char *path = is_folder ? cs_arena_format(arena, "%s/campaign.json", word) : word;
    CS_REQUIRE(path, CS_NO_MEMORY, "no memory for \"%s\"", word);
    CS_TRY(cs_campaign_read(path, result));
    return check_finished(path, *result);
}

/* What shards of one campaign have in common. */
static enum cs_status check_same(const json_t *a, const json_t *b, const char *word) {
    static const char *const keys[] = {"seed", "options", "strength", "depth", "shard_count"};
    for (size_t i = 0; i < CS_COUNT(keys); i++)
        CS_REQUIRE(json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])), CS_BAD_FILE,
                   "%s: another campaign than the first: its %s differs", word, keys[i]);
    return CS_OK;
}

static enum cs_status note_shard(struct merging *merging, const json_t *from, const char *word) {
    int64_t index = integer_of(from, "shard_index"), n = integer_of(from, "shard_count");
    CS_REQUIRE(n < MOST_SHARDS, CS_BAD_FILE, "%s: shard %" PRId64 " of %" PRId64 ": merge knows fewer than %d shards", word,
               index, n, MOST_SHARDS);
    if (!merging->has_shard) merging->has_shard = calloc((size_t)n, 1);
    CS_REQUIRE(merging->has_shard, CS_NO_MEMORY, "no memory for %" PRId64 " shards", n);
    CS_REQUIRE(!merging->has_shard[index], CS_BAD_FILE, "%s: shard %" PRId64 " of %" PRId64 " is there twice", word, index, n);
    merging->has_shard[index] = 1;
    merging->n_shards++;
    return CS_OK;
}

static void add_number(json_t *to, const json_t *from, const char *key) {
    json_object_set_new(to, key, json_integer(integer_of(to, key) + integer_of(from, key)));
}

static void add_failures(json_t *to, const json_t *from) {
    json_t *all = json_object_get(to, "failures"), *failure, *known;
    size_t i, k;
    json_array_foreach(json_object_get(from, "failures"), i, failure) {
        bool is_known = false;
        json_array_foreach(all, k, known) {
            if (!json_equal(json_object_get(known, "fingerprint"), json_object_get(failure, "fingerprint"))) continue;
            add_number(known, failure, "times");
            is_known = true;
            break;
        }
        if (!is_known) json_array_append(all, failure);
    }
}

static void add_result(json_t *to, const json_t *from) {
    const char *part;
    json_t *n, *parts = json_object_get(to, "parts");
    add_number(to, from, "plans");
    add_number(to, from, "refused");
    if (integer_of(from, "paths") > integer_of(to, "paths")) json_object_set(to, "paths", json_object_get(from, "paths"));
    json_object_foreach(json_object_get(from, "parts"), part, n) add_number(parts, json_object_get(from, "parts"), part);
    double seconds = json_number_value(json_object_get(from, "seconds"));
    if (seconds > json_number_value(json_object_get(to, "seconds"))) json_object_set_new(to, "seconds", json_real(seconds));
    if (cs_campaign_is_blind(from)) { /* one silent shard is enough */
        json_object_set(to, "canary", json_object_get(from, "canary"));
        json_object_set(to, "canary_found_at", json_object_get(from, "canary_found_at"));
    }
    add_failures(to, from);
}

static enum cs_status merge_one(struct merging *merging, const char *word, struct cs_arena *arena) {
    json_t *result = NULL;
    enum cs_status status = read_result(word, arena, &result);
    if (status == CS_OK && merging->result) status = check_same(merging->result, result, word);
    if (status == CS_OK) status = note_shard(merging, result, word);
    if (status == CS_OK && merging->result) add_result(merging->result, result);
    if (status == CS_OK && !merging->result) merging->result = json_incref(result);
    json_decref(result);
    return status;
}

static enum cs_status check_whole(const struct merging *merging) {
    int64_t n = integer_of(merging->result, "shard_count");
    for (int64_t i = 0; i < n; i++)
        CS_REQUIRE(merging->has_shard[i], CS_BAD_FILE, "shard %" PRId64 " of %" PRId64 " is missing: the guaranteed part is not whole", i, n);
    return CS_OK;
}

static void print(const struct merging *merging) {
    const json_t *failures = json_object_get(merging->result, "failures"), *failure, *line;
    size_t i, k;
    json_array_foreach(failures, i, failure) {
        printf("FAILED  %s  %s\n", json_string_value(json_object_get(failure, "name")),
               json_string_value(json_object_get(failure, "fingerprint")));
        json_array_foreach(json_object_get(failure, "text"), k, line) printf("  %s\n", json_string_value(line));
    }
    if (cs_campaign_is_blind(merging->result))
        printf("canary %s: NOT found by each shard: the silence of this campaign means nothing\n",
               json_string_value(json_object_get(merging->result, "canary")));
    printf("%zu shards, %" PRId64 " plans, %" PRId64 " refused as they must be\n%zu unique failures\n", merging->n_shards,
           integer_of(merging->result, "plans"), integer_of(merging->result, "refused"), json_array_size(failures));
}

static enum cs_status merge(struct merging *merging, int argc, char **argv, struct cs_arena *arena) {
    CS_TRY(cs_options_parse(&merging->options, cs_merge_options, argc, argv, arena));
    CS_REQUIRE(merging->options.n_words, CS_BAD_USAGE, "merge what? name the folders or JSON files of the shards");
    for (size_t i = 0; i < merging->options.n_words; i++) CS_TRY(merge_one(merging, merging->options.words[i], arena));
    CS_TRY(check_whole(merging));
    const char *json = cs_options_value(&merging->options, "json"), *junit = cs_options_value(&merging->options, "junit");
    if (json) CS_TRY(cs_write_json(json, merging->result, JSON_INDENT(2)));
    if (junit) CS_TRY(cs_write_junit(junit, merging->result));
    print(merging);
    return CS_OK;
}

/* As a campaign of one shard ends. */
static int conclude(const json_t *result) {
    if (json_array_size(json_object_get(result, "failures")) || cs_campaign_is_blind(result)) return CS_EXIT_FAILED;
    return integer_of(result, "plans") ? CS_EXIT_PASSED : CS_EXIT_NOTHING;
}

int cs_verb_merge(int argc, char **argv) {
    struct cs_arena arena = {0};
    struct merging merging = {0};
    enum cs_status status = merge(&merging, argc, argv, &arena);
    int exit_status = status == CS_OK ? conclude(merging.result) : cs_cli_fail(status);
    json_decref(merging.result);
    free(merging.has_shard);
    cs_arena_release(&arena);
    return exit_status;
}
