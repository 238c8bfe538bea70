/* Whether a file is the result of a campaign: every field there, of its type and in its range, and the sums right. What
 * `merge` and a campaign that goes on rely on afterwards. */
#include <string.h>

#include "sim/cli/fuzz_json.h"

enum kind { WHOLE, SECONDS, TRUTH, TEXT, TEXT_OR_NULL, LIST, OBJECT };

struct field {
    const char *key;
    enum kind kind;
    int64_t least, most; /* of a number; of a text: bytes */
};

/* Counts of a million shards still have a sum below 2^63. */
#define MOST INT64_C(0x3ffffffffff)
#define ANY INT64_MAX

/* clang-format off */
static const struct field campaign_fields[] = {
    {"schema", WHOLE, 1, 1},
    {"seed", TEXT, 1, ANY},
    {"options", TEXT, 1, ANY},
    {"strength", WHOLE, 1, CS_FUZZ_MOST_STRENGTH},
    {"depth", WHOLE, 0, CS_FUZZ_MOST_DEPTH},
    {"shard_count", WHOLE, 1, 999999999},
    {"shard_index", WHOLE, 0, 999999998},
    {"finished", TRUTH, 0, 0},
    {"plans", WHOLE, 0, MOST},
    {"refused", WHOLE, 0, MOST},
    {"paths", WHOLE, 0, MOST},
    {"seconds", SECONDS, 0, MOST},
    {"parts", OBJECT, 0, 0},
    {"guaranteed", OBJECT, 0, 0},
    {"canary", TEXT_OR_NULL, 1, ANY},
    {"canary_found_at", WHOLE, -1, MOST},
    {"failures", LIST, 0, ANY},
};
static const struct field guaranteed_fields[] = {
    {"combinations", WHOLE, 0, MOST},
    {"orders", WHOLE, 0, MOST},
    {"impossible", WHOLE, 0, MOST},
};
static const struct field failure_fields[] = {
    {"name", TEXT, 1, 255},
    {"fingerprint", TEXT, 1, 255},
    {"plan", TEXT, 1, CS_PLAN_TEXT - 1},
    {"file", TEXT_OR_NULL, 1, ANY},
    {"number", WHOLE, 0, ANY},
    {"times", WHOLE, 1, MOST},
    {"shrink_runs", WHOLE, 0, MOST},
    {"shrink_seconds", SECONDS, 0, MOST},
    {"minimal", TRUTH, 0, 0},
    {"flaky", TRUTH, 0, 0},
    {"text", LIST, 0, CS_FUZZ_LINES},
};
/* clang-format on */

/* ---- one value ---- */

static bool is_within(int64_t value, const struct field *field) {
    return value >= field->least && value <= field->most;
}

static bool fits(const json_t *value, const struct field *field) {
    switch (field->kind) {
    case WHOLE: return json_is_integer(value) && is_within(json_integer_value(value), field);
    case SECONDS:
        return json_is_number(value) && json_number_value(value) >= (double)field->least &&
               json_number_value(value) <= (double)field->most;
    case TRUTH: return json_is_boolean(value);
    case TEXT: return json_is_string(value) && is_within((int64_t)json_string_length(value), field);
    case TEXT_OR_NULL:
        return json_is_null(value) || (json_is_string(value) && is_within((int64_t)json_string_length(value), field));
    case LIST: return json_is_array(value) && is_within((int64_t)json_array_size(value), field);
    case OBJECT: return json_is_object(value);
    }
    return false;
}

enum { WORDS = 120 };

static const char *expected(const struct field *field, char *words) {
    static const char *const kinds[] = {"a whole number", "a number",   "true or false", "a string",
                                        "a string or null", "an array", "an object"};
    static const char *const units[] = {"", "", "", " bytes", " bytes", " elements", ""};
    const char *kind = kinds[field->kind], *unit = units[field->kind];
    if (field->kind == TRUTH || field->kind == OBJECT || (field->most == ANY && field->kind == LIST))
        snprintf(words, WORDS, "%s", kind);
    else if (field->most == ANY)
        snprintf(words, WORDS, "%s of %" PRId64 "%s or more", kind, field->least, unit);
    else if (field->least == field->most)
        snprintf(words, WORDS, "%" PRId64, field->least);
    else
        snprintf(words, WORDS, "%s %s %" PRId64 " to %" PRId64 "%s", kind, *unit ? "of" : "from", field->least,
                 field->most, unit);
    return words;
}

/* The value, or what it is when it is long. */
static const char *found(const json_t *value, char *words) {
    if (!value) return "missing";
    if (json_is_object(value)) return "an object";
    if (json_is_array(value)) {
        snprintf(words, WORDS, "an array of %zu elements", json_array_size(value));
        return words;
    }
    size_t n = json_dumpb(value, words, WORDS - 1, JSON_ENCODE_ANY);
    if (n < WORDS)
        words[n] = '\0';
    else
        snprintf(words, WORDS, "a string of %zu bytes", json_string_length(value));
    return words;
}

static enum cs_status check_value(const char *path, const char *where, const json_t *value, const struct field *field) {
    char wanted[WORDS], there[WORDS];
    CS_REQUIRE(fits(value, field), CS_BAD_FILE,
               "%s: %s%s: found %s, expected %s: not a whole result of a campaign (--json FILE, or --output-dir of fuzz); "
               "make it again",
               path, where, field->key, found(value, there), expected(field, wanted));
    return CS_OK;
}

static enum cs_status check_fields(const char *path, const char *where, const json_t *object,
                                   const struct field *fields, size_t n) {
    for (size_t i = 0; i < n; i++)
        CS_TRY(check_value(path, where, json_object_get(object, fields[i].key), &fields[i]));
    return CS_OK;
}

/* ---- what belongs together ---- */

/* The corpus comes beside the plans of the campaign. */
static enum cs_status check_parts(const char *path, const json_t *result) {
    const json_t *parts = json_object_get(result, "parts");
    int64_t n_plans = json_integer_value(json_object_get(result, "plans")), n = 0, n_corpus = 0;
    for (int part = 0; part < CS_N_PARTS; part++) {
        const struct field field = {cs_part_name((enum cs_part)part), WHOLE, 0, MOST};
        const json_t *value = json_object_get(parts, field.key);
        CS_TRY(check_value(path, "parts.", value, &field));
        *(part == CS_PART_CORPUS ? &n_corpus : &n) += json_integer_value(value);
    }
    CS_REQUIRE(json_object_size(parts) == CS_N_PARTS, CS_BAD_FILE, "%s: parts: found %zu, expected %d: make it again", path,
               json_object_size(parts), CS_N_PARTS);
    CS_REQUIRE(n == n_plans, CS_BAD_FILE,
               "%s: plans: found %" PRId64 ", expected %" PRId64 ", the sum of its parts without the corpus: make it again",
               path, n_plans, n);
    const struct field refused = {"refused", WHOLE, 0, n + n_corpus};
    return check_value(path, "", json_object_get(result, "refused"), &refused);
}

static enum cs_status check_failure(const char *path, size_t number, const json_t *failure) {
    char where[64];
    const json_t *line, *text = json_object_get(failure, "text");
    size_t i;
    snprintf(where, sizeof where, "failures[%zu]", number);
    const struct field whole = {"", OBJECT, 0, 0};
    CS_TRY(check_value(path, where, failure, &whole));
    strcat(where, ".");
    CS_TRY(check_fields(path, where, failure, failure_fields, CS_COUNT(failure_fields)));
    json_array_foreach(text, i, line) {
        char key[32];
        snprintf(key, sizeof key, "text[%zu]", i);
        const struct field field = {key, TEXT, 0, ANY};
        CS_TRY(check_value(path, where, line, &field));
    }
    return CS_OK;
}

static enum cs_status check_failures(const char *path, const json_t *failures, json_t *seen) {
    const json_t *failure;
    size_t i;
    CS_REQUIRE(seen, CS_NO_MEMORY, "no memory for failures");
    json_array_foreach(failures, i, failure) {
        CS_TRY(check_failure(path, i, failure));
        const char *fingerprint = json_string_value(json_object_get(failure, "fingerprint"));
        CS_REQUIRE(!json_object_get(seen, fingerprint), CS_BAD_FILE,
                   "%s: failures[%zu].fingerprint: found \"%s\" again, expected each once: make it again", path, i,
                   fingerprint);
        CS_REQUIRE(json_object_set_new(seen, fingerprint, json_true()) == 0, CS_NO_MEMORY, "no memory for failures");
    }
    return CS_OK;
}

static enum cs_status check_result(const char *path, const json_t *result) {
    const struct field whole = {"the file", OBJECT, 0, 0};
    CS_TRY(check_value(path, "", json_is_object(result) ? result : json_null(), &whole));
    CS_TRY(check_fields(path, "", result, campaign_fields, CS_COUNT(campaign_fields)));
    const struct field index = {"shard_index", WHOLE, 0, json_integer_value(json_object_get(result, "shard_count")) - 1};
    CS_TRY(check_value(path, "", json_object_get(result, "shard_index"), &index));
    CS_TRY(check_fields(path, "guaranteed.", json_object_get(result, "guaranteed"), guaranteed_fields,
                        CS_COUNT(guaranteed_fields)));
    CS_TRY(check_parts(path, result));
    json_t *seen = json_object();
    enum cs_status status = check_failures(path, json_object_get(result, "failures"), seen);
    json_decref(seen);
    return status;
}

enum cs_status cs_campaign_read(const char *path, json_t **result) {
    json_t *read;
    *result = NULL;
    CS_TRY(cs_read_json(path, &read));
    enum cs_status status = check_result(path, read);
    if (status == CS_OK) *result = json_incref(read);
    json_decref(read);
    return status;
}

bool cs_campaign_is_blind(const json_t *result) {
    return json_is_string(json_object_get(result, "canary")) &&
           json_integer_value(json_object_get(result, "canary_found_at")) < 1;
}
