/* The command line of `fuzz`, and which share of the plans is ours. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/fuzz.h"

/* clang-format off */
const struct cs_option cs_fuzz_cli_options[] = {
    {"time", 0, "TIME", CS_ONCE, "go on at random until so much time has passed: 90, 90s, 5m, 2h; the guaranteed part is always finished"},
    {"runs", 0, "N", CS_ONCE, "so many plans at random (default: 500, or no limit with --time)"},
    {"seed", 0, "N", CS_ONCE, "seed of all plans: a number, 0x…, or a commit hash (default: 1)"},
    {"strength", 't', "T", CS_ONCE, "guaranteed: all combinations of T axes and all orders of T steps, 1 to 3 (default: 2)"},
    {"depth", 0, "K", CS_ONCE, "guaranteed: all sequences of up to K whole loads on a tiny model (default: 3)"},
    {"policy", 0, "P", CS_ONCE, "only under this padding policy (default: record_and_fill, the one that promises equality)"},
    {"device", 0, "NAME", CS_ONCE, "only on this device (default: those that are there)"},
    {"canary", 0, "DEFECT", CS_ONCE, "a known fault, switched on in every 16th plan, run once more: not finding it fails the campaign (default: no_fill, or copy_back_skipped where the policy fills nothing; \"none\": no canary)"},
    {"self-test", 0, NULL, CS_ONCE, "how many plans and seconds the random part needs to find each mutant, and how small it makes the failure; --time and --runs limit each"},
    {"doublecheck", 0, NULL, CS_ONCE, "run each plan twice and compare"},
    {"jobs", 'j', "N", CS_ONCE, "processes (default: one per processor)"},
    {"timeout", 0, "TIME", CS_ONCE, "a plan that takes longer hangs (default: 60s)"},
    {"shard", 0, "I/N", CS_ONCE, "only every N-th plan, from the I-th (I from 0; default: from the environment of Slurm, Open MPI, Kubernetes or CI)"},
    {"output-dir", 'o', "DIR", CS_ONCE, "keeps failures and the state there; the same command goes on where it ended"},
    {"plans", 0, NULL, CS_ONCE, "print the plans, a line each, and run none"},
    {"json", 0, "FILE", CS_WRITTEN, "write the result as JSON too"},
    {"coverage", 0, "FILE", CS_WRITTEN, "write the ways of loading that the plans took, as `run --coverage` does: `coldstart coverage FILE...` joins them"},
    {"junit", 0, "FILE", CS_WRITTEN, "write the result as JUnit too"},
    {"quiet", 'q', NULL, CS_ONCE, "no progress on stderr"},
    {0},
};
/* clang-format on */

static enum cs_status read_number(const struct cs_campaign *campaign, const char *option, uint64_t least, uint64_t most,
                                  uint64_t *number) {
    const char *text = cs_options_value(&campaign->options, option);
    if (!text) return CS_OK;
    size_t n = strspn(text, "0123456789");
    errno = 0;
    uint64_t value = strtoull(text, NULL, 10);
    CS_REQUIRE(n > 0 && !text[n] && errno == 0 && value >= least && value <= most, CS_BAD_USAGE,
               "--%s wants a number from %" PRIu64 " to %" PRIu64 ", found \"%s\"", option, least, most, text);
    *number = value;
    return CS_OK;
}

static enum cs_status read_time(const struct cs_campaign *campaign, const char *option, double *seconds) {
    const char *text = cs_options_value(&campaign->options, option);
    if (!text) return CS_OK;
    char *end;
    errno = 0;
    double number = isdigit((unsigned char)*text) ? strtod(text, &end) : -1;
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}};
    for (size_t i = 0; number > 0 && number < 1e9 && i < CS_COUNT(units); i++)
        if (cs_text_equal(end, units[i].unit)) {
            *seconds = number * units[i].seconds;
            return CS_OK;
        }
    return cs_fail(CS_BAD_USAGE, "--%s wants a time such as 90s, 5m or 2h, found \"%s\"", option, text);
}

/* A commit hash is a seed too: seven or more hexadecimal digits that are no decimal number. */
static enum cs_status read_seed(struct cs_campaign *campaign) {
    const char *text = cs_options_value(&campaign->options, "seed");
    campaign->stream_options.seed = 1;
    campaign->seed_text = text ? text : "1";
    if (!text) return CS_OK;
    size_t n = strspn(text, "0123456789abcdefABCDEF");
    bool is_hash = !text[n] && n >= 7 && (text[strspn(text, "0123456789")] || n > 18);
    if (is_hash) {
        campaign->stream_options.seed = cs_fnv1a64(CS_FNV1A64_START, text, n) >> 1;
        return CS_OK;
    }
    bool is_given;
    return cs_options_seed(&campaign->options, &is_given, &campaign->stream_options.seed);
}

/* Leaves only one value of an axis in. */
static enum cs_status leave_only(struct cs_campaign *campaign, enum cs_axis_id id, const char *word) {
    uint8_t value;
    enum cs_status status = cs_axis_parse(id, word, &value);
    CS_REQUIRE(status == CS_OK, CS_BAD_USAGE, "--%s: %s", cs_axis(id)->name, cs_error_text());
    for (size_t i = 0; i < cs_axis(id)->n; i++)
        campaign->stream_options.space.is_left_out[id][i] = i != value;
    return CS_OK;
}

static enum cs_status read_device(struct cs_campaign *campaign) {
    const char *name = cs_options_value(&campaign->options, "device");
    bool *is_left_out = campaign->stream_options.space.is_left_out[CS_AXIS_device];
    if (name) CS_TRY(leave_only(campaign, CS_AXIS_device, name));
    for (size_t i = 0; i < cs_n_devices; i++) {
        const char *why = cs_devices[i]->unavailable ? cs_devices[i]->unavailable() : "";
        CS_REQUIRE(!*why || !name || is_left_out[i], CS_UNSUPPORTED, "device \"%s\" is not available: %s", name, why);
        if (*why) is_left_out[i] = true;
    }
    return CS_OK;
}

/* ---- shards ---- */

/* Environments of launchers: which of how many. A batch script of Slurm is process 0 of as many as it asked for, and no
 * shard of them: only `srun` sets the number of a step's. */
static const struct launcher {
    const char *index, *n, *first, *step; /* first: number of the first one; step: between two; NULL: 0 and 1 */
} launchers[] = {
    {"COLDSTART_SHARD_INDEX", "COLDSTART_SHARD_COUNT", NULL, NULL},
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL},
    {"PMI_RANK", "PMI_SIZE", NULL, NULL},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", NULL, NULL},
    {"JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", NULL, NULL}, /* Kubernetes; the second must be set in the job's template */
    {"CI_NODE_INDEX", "CI_NODE_TOTAL", "1", NULL},           /* GitLab `parallel`: from 1 */
};

static bool read_natural(const char *text, uint64_t *number) {
    size_t n = text ? strspn(text, "0123456789") : 0;
    if (n == 0 || n > 9 || text[n]) return false;
    *number = strtoull(text, NULL, 10);
    return true;
}

static enum cs_status make_shard(const char *source, uint64_t index, uint64_t n, struct cs_fuzz_shard *shard) {
    CS_REQUIRE(n >= 1, CS_BAD_USAGE, "%s: shard %" PRIu64 " of 0: expected one shard or more, such as 0/1", source, index);
    CS_REQUIRE(index < n, CS_BAD_USAGE, "%s: shard %" PRIu64 " of %" PRIu64 ": expected 0/%" PRIu64 " to %" PRIu64 "/%" PRIu64,
               source, index, n, n, n - 1, n);
    *shard = (struct cs_fuzz_shard){index, n, source};
    return CS_OK;
}

static enum cs_status read_shard(const char *text, struct cs_fuzz_shard *shard) {
    uint64_t index, n;
    const char *slash = strchr(text, '/');
    char left[16] = "";
    if (slash && slash - text < (int)sizeof left) memcpy(left, text, (size_t)(slash - text));
    CS_REQUIRE(slash && read_natural(left, &index) && read_natural(slash + 1, &n), CS_BAD_USAGE,
               "--shard wants I/N, such as 0/4, found \"%s\"", text);
    return make_shard("--shard", index, n, shard);
}

/* A number, a variable that holds one, or what is usual. */
static enum cs_status read_variable(const char *name, uint64_t usual, uint64_t *number) {
    const char *text = name && !isdigit((unsigned char)*name) ? getenv(name) : name;
    *number = usual;
    CS_REQUIRE(!text || read_natural(text, number), CS_BAD_USAGE,
               "%s: found \"%s\", expected a natural number: set it right, unset it, or give --shard I/N", name, text);
    return CS_OK;
}

/* Not a shard where there is one process, and where this launcher did not start any. */
static enum cs_status ask(const struct launcher *launcher, struct cs_fuzz_shard *shard) {
    uint64_t index, n, first, step;
    const char *is_set = getenv(launcher->index);
    bool is_ours = launcher == launchers; /* no launcher sets those by itself */
    CS_REQUIRE(!is_ours || !is_set == !getenv(launcher->n), CS_BAD_USAGE, "%s is set, and %s is not: set both, or none",
               is_set ? launcher->index : launcher->n, is_set ? launcher->n : launcher->index);
    if (!is_set || !getenv(launcher->n)) return CS_OK;
    CS_TRY(read_variable(launcher->index, 0, &index));
    CS_TRY(read_variable(launcher->n, 1, &n));
    CS_TRY(read_variable(launcher->first, 0, &first));
    CS_TRY(read_variable(launcher->step, 1, &step));
    if (n < 2) return CS_OK;
    bool is_even = step > 0 && index >= first && (index - first) % step == 0;
    CS_REQUIRE(is_even, CS_BAD_USAGE,
               "%s is %" PRIu64 ", expected %" PRIu64 " and then every %" PRIu64 ". one: give --shard I/N", launcher->index,
               index, first, step);
    return make_shard(launcher->index, (index - first) / step, n, shard);
}

enum cs_status cs_fuzz_shard_find(const char *text, struct cs_fuzz_shard *shard) {
    *shard = (struct cs_fuzz_shard){0, 1, NULL};
    if (text) return read_shard(text, shard);
    for (size_t i = 0; i < CS_COUNT(launchers) && !shard->source; i++) CS_TRY(ask(&launchers[i], shard));
    return CS_OK;
}

/* ---- all of it ---- */

static enum cs_status read_canary(struct cs_campaign *campaign) {
    const char *name = cs_options_value(&campaign->options, "canary"), *policy = cs_options_value(&campaign->options, "policy");
    enum cs_defect defect;
    if (name && cs_text_equal(name, "none")) return CS_OK;
    bool fills = !policy || cs_text_equal(policy, "record_and_fill");
    campaign->canary_name = name ? name : cs_defect_name(fills ? CS_DEFECT_NO_FILL : CS_DEFECT_COPY_BACK_SKIPPED);
    enum cs_status status = cs_defect_parse(campaign->canary_name, &defect);
    CS_REQUIRE(status == CS_OK, CS_BAD_USAGE, "--canary: %s", cs_error_text());
    campaign->canary = CS_DEFECT_BIT(defect);
    return CS_OK;
}

static enum cs_status read_limits(struct cs_campaign *campaign) {
    enum { DEFAULT_RUNS = 500 };
    uint64_t t = 2, depth = 3, jobs = 0;
    CS_TRY(read_time(campaign, "time", &campaign->most_seconds));
    campaign->timeout = 60;
    CS_TRY(read_time(campaign, "timeout", &campaign->timeout));
    campaign->most_random = campaign->most_seconds > 0 ? UINT64_MAX : DEFAULT_RUNS;
    CS_TRY(read_number(campaign, "runs", 0, INT64_MAX, &campaign->most_random));
    CS_TRY(read_number(campaign, "strength", 1, CS_FUZZ_MOST_STRENGTH, &t));
    CS_TRY(read_number(campaign, "depth", 0, CS_FUZZ_MOST_DEPTH, &depth));
    CS_TRY(read_number(campaign, "jobs", 1, CS_FUZZ_MOST_JOBS, &jobs));
    campaign->stream_options.t = (int)t;
    campaign->stream_options.depth = (int)depth;
    campaign->n_jobs = jobs;
    return CS_OK;
}

/* What --plans and --self-test do not do must not be asked of them: a file that never comes is missed too late. */
static enum cs_status check_together(const struct cs_options *options) {
    /* clang-format off */
    static const struct {
        const char *one, *other, *why;
    } apart[] = {
        {"plans", "self-test", "--plans runs nothing"},
        {"plans", "json", "--plans prints the plans and runs none: there is no result to write"},
        {"plans", "junit", "--plans prints the plans and runs none: there is no result to write"},
        {"plans", "coverage", "--plans prints the plans and runs none: there is no result to write"},
        {"plans", "output-dir", "--plans prints the plans and runs none: there is nothing to keep"},
        {"self-test", "junit", "--self-test writes its result with --json only"},
        {"self-test", "coverage", "--self-test writes its result with --json only"},
        {"self-test", "output-dir", "--self-test keeps no failures and no state"},
        {"self-test", "shard", "--self-test is not shared among shards"},
    };
    static const char *const wordless[] = {"plans", "self-test"};
    /* clang-format on */
    for (size_t i = 0; i < CS_COUNT(apart); i++)
        CS_REQUIRE(!cs_options_value(options, apart[i].one) || !cs_options_value(options, apart[i].other), CS_BAD_USAGE,
                   "--%s and --%s do not go together: %s: leave one of them out", apart[i].one, apart[i].other,
                   apart[i].why);
    for (size_t i = 0; i < CS_COUNT(wordless); i++)
        CS_REQUIRE(!cs_options_value(options, wordless[i]) || !options->n_words, CS_BAD_USAGE,
                   "--%s takes no files, found \"%s\": it is about plans of the campaign's own; leave one of them out",
                   wordless[i], options->words[0]);
    const char *canary = cs_options_value(options, "canary");
    CS_REQUIRE(!cs_options_value(options, "self-test") || !canary || !cs_text_equal(canary, "none"), CS_BAD_USAGE,
               "--self-test --canary none: there is no mutant to look for: name one, or leave --canary out for all");
    return CS_OK;
}

enum cs_status cs_campaign_settings(struct cs_campaign *campaign, int argc, char **argv) {
    CS_TRY(cs_options_parse(&campaign->options, cs_fuzz_cli_options, argc, argv, &campaign->arena));
    CS_TRY(check_together(&campaign->options));
    const char *policy = cs_options_value(&campaign->options, "policy");
    campaign->text = stdout;
    campaign->output = cs_options_value(&campaign->options, "output-dir");
    campaign->json = cs_options_value(&campaign->options, "json");
    campaign->junit = cs_options_value(&campaign->options, "junit");
    campaign->judge.is_doubled = cs_options_value(&campaign->options, "doublecheck") != NULL;
    CS_TRY(read_seed(campaign));
    CS_TRY(read_limits(campaign));
    CS_TRY(leave_only(campaign, CS_AXIS_policy, policy ? policy : "record_and_fill"));
    CS_TRY(read_device(campaign));
    CS_TRY(read_canary(campaign));
    const char *device = cs_options_value(&campaign->options, "device");
    campaign->options_text = cs_arena_format(&campaign->arena, "--strength %d --depth %d --policy %s%s%s", campaign->stream_options.t,
                        campaign->stream_options.depth, policy ? policy : "record_and_fill", device ? " --device " : "",
                        device ? device : "");
    CS_REQUIRE(campaign->options_text, CS_NO_MEMORY, "no memory for options");
    return cs_fuzz_shard_find(cs_options_value(&campaign->options, "shard"), &campaign->shard);
}
