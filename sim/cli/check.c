#include "sim/cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "sim/cli/internal.h"
#include "sim/script/script.h"

/* clang-format off */
const struct cs_option cs_check_options[] = {
    {"checkpoint", 0, "NAME=DIR", CS_REPEATED, "see whether a folder has what the scenarios need of checkpoint NAME, tensor by tensor, without loading it; held against each script given, and a script without a checkpoint of that name is counted wrong"},
    {"set", 0, "NAME=VALUE", CS_REPEATED, "give an option that the scenario's file declares another value: coldstart help FILE"},
    {0},
};
/* clang-format on */

struct check {
    struct cs_arena arena;
    struct cs_options options;
    struct cs_settings settings;
    size_t n_checked, n_wrong;
};

/* A message is one line here, whatever Lua made of it. */
static void print_line(const char *text) {
    for (; *text; text++) putchar(*text == '\n' || *text == '\r' ? ' ' : *text);
    putchar('\n');
}

static void print_wrong(struct check *check, const char *path) {
    const char *message = cs_error_text();
    bool names_it = strncmp(message, path, strlen(path)) == 0;
    printf("wrong  ");
    if (!names_it) printf("%s: ", path);
    print_line(message);
    check->n_wrong++;
}

/* The model is built, without a byte of its weights. */
static enum cs_status open_session(const struct cs_scenario *scenario, struct cs_session *session) {
    const struct cs_session_config config = {
        .scenario = scenario,
        .device = cs_device_by_name("ref"),
        .policy = "none",
        .allocator = scenario->allocator,
        .seed = scenario->seed,
        .only_rank = -1,
    };
    return cs_session_open(session, &config);
}

/* Tensors and elements that a checkpoint names are those of the model. What a folder that the script names has is no
 * matter of the script. */
static enum cs_status check_checkpoints(const struct cs_scenario *scenario) {
    bool names_tensors = false;
    for (size_t i = 0; i < scenario->n_checkpoints; i++)
        names_tensors |= scenario->checkpoints[i].patches || scenario->checkpoints[i].kind == CS_CHECKPOINT_PATTERN;
    if (!names_tensors) return CS_OK;
    struct cs_session session;
    enum cs_status status = open_session(scenario, &session);
    cs_session_close(&session);
    bool is_other = status == CS_BAD_FILE || status == CS_UNSUPPORTED;
    return is_other ? CS_OK : status;
}

/* ---- folders that the command line names ---- */

static bool is_given(const struct check *check, const struct cs_checkpoint_config *config) {
    size_t length = strlen(config->name);
    for (size_t i = 0; i < check->options.n_given; i++) {
        const struct cs_option_given *given = &check->options.given[i];
        if (cs_text_equal(given->option->name, "checkpoint") && strncmp(given->value, config->name, length) == 0 &&
            given->value[length] == '=')
            return true;
    }
    return false;
}

/* As a start from it would see the folder. */
static enum cs_status check_folder(struct cs_session *session, const struct cs_checkpoint_config *config) {
    const struct cs_op start = {.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = config->name};
    CS_TRY(cs_session_can_load(session, &start));
    size_t n = session->checkpoints[config - session->config.scenario->checkpoints].n_entries;
    int64_t n_skipped = session->accounting.not_simulated;
    printf("fits   %s=%s  %zu tensors: %" PRId64 " taken, %" PRId64 " not simulated\n", config->name, config->path, n,
           (int64_t)n - n_skipped, n_skipped);
    return CS_OK;
}

static enum cs_status check_folders(const struct check *check, const struct cs_scenario *scenario) {
    struct cs_session session;
    enum cs_status status = open_session(scenario, &session);
    for (size_t i = 0; status == CS_OK && i < scenario->n_checkpoints; i++)
        if (is_given(check, &scenario->checkpoints[i])) status = check_folder(&session, &scenario->checkpoints[i]);
    cs_session_close(&session);
    return status;
}

static enum cs_status put_folders_in(struct check *check, const struct cs_script_list *list) {
    struct cs_scenarios scenarios = {.n = list->n, .items = list->items};
    return cs_override_checkpoints(&scenarios, &check->options, &check->arena);
}

/* ---- scripts ---- */

static enum cs_status check_list(struct check *check, const char *path, const struct cs_script_list *list) {
    for (size_t i = 0; i < list->n; i++) CS_TRY(check_checkpoints(&list->items[i]));
    CS_TRY(put_folders_in(check, list));
    bool has_folders = cs_options_value(&check->options, "checkpoint") != NULL;
    for (size_t i = 0; i < list->n; i++) {
        if (has_folders) CS_TRY(check_folders(check, &list->items[i]));
        printf("ok     %s  %s\n", path, list->items[i].name);
    }
    return CS_OK;
}

static enum cs_status check_script(struct check *check, const char *path) {
    struct cs_arena arena = {0};
    struct cs_script_list list = {0};
    enum cs_status status = cs_script_load_all(path, check->settings.items, check->settings.n, &arena, &list);
    if (status == CS_OK) status = check_list(check, path, &list);
    bool is_ours = status == CS_NO_MEMORY || status == CS_INTERNAL;
    if (status != CS_OK && !is_ours) print_wrong(check, path);
    check->n_checked++;
    cs_arena_release(&arena);
    return is_ours ? status : CS_OK;
}

/* A word that cannot be read is one more thing that is wrong: the others are checked all the same. */
static enum cs_status check_word(struct check *check, const char *word) {
    struct cs_paths paths = {0};
    enum cs_status status = cs_find_scripts(word, &check->arena, &paths);
    if (status == CS_BAD_FILE) {
        print_wrong(check, word);
        check->n_checked++;
        return CS_OK;
    }
    for (size_t i = 0; status == CS_OK && i < paths.n; i++) status = check_script(check, paths.items[i].text);
    return status;
}

static enum cs_status check_words(struct check *check, int argc, char **argv) {
    struct cs_options *options = &check->options;
    CS_TRY(cs_options_parse(options, cs_check_options, argc, argv, &check->arena));
    CS_REQUIRE(options->n_words > 0, CS_BAD_USAGE, "check what? name a scenario file or a folder of them");
    CS_TRY(cs_read_settings(options, &check->arena, &check->settings));
    for (size_t i = 0; i < options->n_words; i++) CS_TRY(check_word(check, options->words[i]));
    return CS_OK;
}

static int finish(const struct check *check) {
    if (check->n_checked == 0) {
        fprintf(stderr, "coldstart: nothing was checked: there is no scenario below \"%s\"\n", check->options.words[0]);
        return CS_EXIT_NOTHING;
    }
    printf("%zu checked, %zu wrong\n", check->n_checked, check->n_wrong);
    return check->n_wrong ? CS_EXIT_USAGE : CS_EXIT_PASSED;
}

int cs_verb_check(int argc, char **argv) {
    struct check check = {0};
    enum cs_status status = check_words(&check, argc, argv);
    int code = status == CS_OK ? finish(&check) : cs_cli_fail(status);
    cs_arena_release(&check.arena);
    return code;
}
