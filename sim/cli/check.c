#include "sim/cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "sim/cli/internal.h"
#include "sim/script/script.h"

struct check {
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

/* Tensors and elements that a checkpoint names are those of the model: it is built, without a byte of its weights. What
 * a folder has is no matter of the script. */
static enum cs_status check_checkpoints(const struct cs_scenario *scenario) {
    bool names_tensors = false;
    for (size_t i = 0; i < scenario->n_checkpoints; i++)
        names_tensors |= scenario->checkpoints[i].patches || scenario->checkpoints[i].kind == CS_CHECKPOINT_PATTERN;
    if (!names_tensors) return CS_OK;
    struct cs_session session;
    const struct cs_session_config config = {
        .scenario = scenario,
        .device = cs_device_by_name("ref"),
        .policy = "none",
        .allocator = scenario->allocator,
        .seed = scenario->seed,
        .only_rank = -1,
    };
    enum cs_status status = cs_session_open(&session, &config);
    cs_session_close(&session);
    bool is_other = status == CS_BAD_FILE || status == CS_UNSUPPORTED;
    return is_other ? CS_OK : status;
}

static enum cs_status check_all(const struct cs_script_list *list) {
    for (size_t i = 0; i < list->n; i++) CS_TRY(check_checkpoints(&list->items[i]));
    return CS_OK;
}

static enum cs_status check_script(struct check *check, const char *path) {
    struct cs_arena arena = {0};
    struct cs_script_list list = {0};
    enum cs_status status = cs_script_load_all(path, NULL, 0, &arena, &list);
    if (status == CS_OK) status = check_all(&list);
    bool is_ours = status == CS_NO_MEMORY || status == CS_INTERNAL;
    if (status == CS_OK)
        for (size_t i = 0; i < list.n; i++) printf("ok     %s  %s\n", path, list.items[i].name);
    else if (!is_ours)
        print_wrong(check, path);
    check->n_checked++;
    cs_arena_release(&arena);
    return is_ours ? status : CS_OK;
}

/* A word that cannot be read is one more thing that is wrong: the others are checked all the same. */
static enum cs_status check_word(struct check *check, const char *word, struct cs_arena *arena) {
    struct cs_paths paths = {0};
    enum cs_status status = cs_find_scripts(word, arena, &paths);
    if (status == CS_BAD_FILE) {
        print_wrong(check, word);
        check->n_checked++;
        return CS_OK;
    }
    for (size_t i = 0; status == CS_OK && i < paths.n; i++) status = check_script(check, paths.items[i].text);
    return status;
}

static int finish(const struct check *check, const struct cs_options *options) {
    if (check->n_checked == 0) {
        fprintf(stderr, "coldstart: nothing was checked: there is no scenario below \"%s\"\n", options->words[0]);
        return CS_EXIT_NOTHING;
    }
    printf("%zu checked, %zu wrong\n", check->n_checked, check->n_wrong);
    return check->n_wrong ? CS_EXIT_USAGE : CS_EXIT_PASSED;
}

int cs_verb_check(int argc, char **argv) {
    struct cs_arena arena = {0};
    struct cs_options options;
    struct check check = {0};
    enum cs_status status = cs_options_parse(&options, NULL, argc, argv, &arena);
    if (status == CS_OK && options.n_words == 0)
        status = cs_fail(CS_BAD_USAGE, "check what? name a scenario file or a folder of them");
    for (size_t i = 0; status == CS_OK && i < options.n_words; i++)
        status = check_word(&check, options.words[i], &arena);
    int code = status == CS_OK ? finish(&check, &options) : cs_cli_fail(status);
    cs_arena_release(&arena);
    return code;
}
