/* Writes a checkpoint of a scenario, tensor by tensor, as a folder of safetensors files. */
#include "sim/cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/internal.h"
#include "sim/cli/progress.h"

/* clang-format off */
const struct cs_option cs_make_checkpoint_options[] = {
    {"list", 0, NULL, CS_ONCE, "print what the checkpoint consists of, a tensor a line: name, dtype and shape; no DIR, nothing is written"},
    {"max-shard-size", 0, "SIZE", CS_ONCE, "bytes of tensors in one file (default: 5GiB)"},
    {"set", 0, "NAME=VALUE", CS_REPEATED, "give an option that the scenario's file declares another value: coldstart help FILE"},
    {"seed", 0, "N", CS_ONCE, "seed of the numbers, decimal or 0x… (default: the scenario's)"},
    {"quiet", 'q', NULL, CS_ONCE, "no progress on stderr"},
    {0},
};
/* clang-format on */

/* One run of the verb. */
struct making {
    struct cs_arena arena;
    struct cs_options options;
    struct cs_scenario scenario; /* with the checkpoint, and those that it is a copy of, alone */
    uint64_t seed, max_shard_bytes;
    struct cs_session session; /* for its checkpoints: nothing is loaded */
    const struct cs_checkpoint *checkpoint;
    const struct cs_checkpoint_entry *entry; /* that `source` stands for; NULL: none yet */
    struct cs_view source;
    struct cs_progress progress;
    size_t n_entries;
    uint64_t bytes, bytes_total;
    bool is_listing; /* names instead of files */
    bool is_writing; /* failures of files are those of the output now */
};

/* ---- which checkpoint ---- */

static const struct cs_checkpoint_config *find(const struct cs_scenario *scenario, const char *name) {
    for (size_t i = 0; i < scenario->n_checkpoints; i++)
        if (cs_text_equal(scenario->checkpoints[i].name, name)) return &scenario->checkpoints[i];
    return NULL;
}

static enum cs_status unknown_checkpoint(struct making *making, const char *name) {
    const char **names = CS_NEW_ARRAY(&making->arena, const char *, making->scenario.n_checkpoints + 1);
    CS_REQUIRE(names, CS_NO_MEMORY, "no memory for checkpoints");
    for (size_t i = 0; i < making->scenario.n_checkpoints; i++) names[i] = making->scenario.checkpoints[i].name;
    return cs_cli_unknown("checkpoint", name, names, making->scenario.n_checkpoints);
}

/* With what it is a copy of, and that of. Others may be folders that do not exist here. */
static enum cs_status keep_only(struct making *making, const char *name) {
    struct cs_scenario *scenario = &making->scenario;
    CS_REQUIRE(!scenario->model.is_toy, CS_BAD_USAGE,
               "%s: a toy spells out what each load writes: it has no checkpoints", scenario->file);
    const struct cs_checkpoint_config *wanted = find(scenario, name);
    if (!wanted) return unknown_checkpoint(making, name);
    struct cs_checkpoint_config *kept =
        CS_NEW_ARRAY(&making->arena, struct cs_checkpoint_config, scenario->n_checkpoints);
    CS_REQUIRE(kept, CS_NO_MEMORY, "no memory for checkpoints");
    size_t n = 0;
    for (; wanted && n < scenario->n_checkpoints; n++) {
        kept[n] = *wanted;
        const char *original = cs_checkpoint_original(wanted);
        wanted = original ? find(scenario, original) : NULL;
    }
    scenario->checkpoints = kept;
    scenario->n_checkpoints = n;
    return CS_OK;
}

/* ---- settings ---- */

static enum cs_status read_settings(struct making *making, int argc, char **argv) {
    const struct cs_options *options = &making->options;
    struct cs_settings settings;
    bool has_seed = false;
    CS_TRY(cs_options_parse(&making->options, cs_make_checkpoint_options, argc, argv, &making->arena));
    making->is_listing = cs_options_value(options, "list") != NULL;
    CS_REQUIRE(options->n_words == (making->is_listing ? 2 : 3), CS_BAD_USAGE,
               "make-checkpoint wants a scenario file, the name of a checkpoint and %s, %zu given",
               making->is_listing ? "with --list nothing more" : "a folder", options->n_words);
    const char *size = cs_options_value(options, "max-shard-size");
    enum cs_status status = cs_text_bytes(size ? size : "5GiB", &making->max_shard_bytes);
    CS_REQUIRE(status == CS_OK, CS_BAD_USAGE, "--max-shard-size: %s", cs_error_text());
    CS_REQUIRE(making->max_shard_bytes > 0, CS_BAD_USAGE, "--max-shard-size %s: a file must have room for something",
               size);
    CS_TRY(cs_options_seed(options, &has_seed, &making->seed));
    CS_TRY(cs_read_settings(options, &making->arena, &settings));
    CS_TRY(cs_script_load_set(options->words[0], settings.items, settings.n, &making->arena, &making->scenario));
    if (!has_seed) making->seed = making->scenario.seed;
    return keep_only(making, options->words[1]);
}

static enum cs_status open_checkpoint(struct making *making) {
    const struct cs_session_config config = {
        .scenario = &making->scenario,
        .device = cs_device_by_name("ref"),
        .policy = "none",
        .allocator = making->scenario.allocator,
        .seed = making->seed,
        .only_rank = -1,
    };
    CS_TRY(cs_session_open(&making->session, &config));
    making->checkpoint = &making->session.checkpoints[0];
    for (size_t i = 0; i < making->checkpoint->n_entries; i++)
        making->bytes_total += making->checkpoint->entries[i].bytes;
    return CS_OK;
}

/* ---- bytes ---- */

/* Signals that end us wait until the half-written folder is gone. */
static void hold_signals(sigset_t *before) {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigprocmask(SIG_BLOCK, &held, before);
}

static bool is_interrupted(void) {
    sigset_t waiting;
    sigemptyset(&waiting);
    sigpending(&waiting);
    return sigismember(&waiting, SIGINT) || sigismember(&waiting, SIGTERM) || sigismember(&waiting, SIGHUP);
}

static void show_progress(struct making *making) {
    double share = making->bytes_total ? (double)making->bytes / (double)making->bytes_total : 0;
    struct cs_progress_at at = {
        .n_done = making->n_entries - 1, .share = share, .bytes = (int64_t)making->bytes, .name = making->entry->name};
    cs_progress_show(&making->progress, &at, cs_progress_now());
}

/* The source of the entry before goes first: one tensor at a time. */
static enum cs_status turn_to(struct making *making, const struct cs_checkpoint_entry *entry) {
    struct cs_allocator *allocator = &making->session.ranks[0].allocator;
    int64_t flat = -1;
    cs_allocator_sweep(allocator);
    making->entry = NULL;
    CS_TRY(cs_checkpoint_source(making->checkpoint, entry, allocator, &making->source));
    CS_TRY(cs_view_reshape(&making->source, 1, &flat));
    making->entry = entry;
    making->n_entries++;
    return CS_OK;
}

static enum cs_status read_bytes(void *context, const struct cs_checkpoint_entry *entry, size_t first, size_t size,
                                 void *bytes) {
    struct making *making = context;
    CS_REQUIRE(!is_interrupted(), CS_INTERNAL, "interrupted");
    if (making->entry != entry) CS_TRY(turn_to(making, entry));
    struct cs_view part = making->source;
    int64_t bits = cs_dtype_bits(entry->dtype);
    CS_TRY(cs_view_narrow(&part, 0, (int64_t)first * 8 / bits, (int64_t)size * 8 / bits));
    CS_TRY(cs_device_read(making->session.config.device, &part, bytes, size));
    making->bytes += size;
    show_progress(making);
    return CS_OK;
}

/* ---- the verb ---- */

static enum cs_status write_folder(struct making *making) {
    const struct cs_byte_source source = {making, read_bytes};
    struct cs_folder_written written;
    const char *folder = making->options.words[2];
    cs_progress_start(&making->progress, cs_options_value(&making->options, "quiet") ? NULL : stderr, "tensor",
                      making->checkpoint->n_entries, cs_progress_now());
    enum cs_status status = cs_folder_write(folder, making->checkpoint->entries, making->checkpoint->n_entries,
                                            making->max_shard_bytes, &source, &written);
    cs_progress_clear(&making->progress);
    CS_TRY(status);
    printf("%s: %zu tensors, %" PRIu64 " bytes in %zu file%s\n", folder, making->checkpoint->n_entries, written.bytes,
           written.n_shards, written.n_shards == 1 ? "" : "s");
    return CS_OK;
}

static void list_tensors(const struct cs_checkpoint *checkpoint) {
    for (size_t i = 0; i < checkpoint->n_entries; i++) {
        const struct cs_checkpoint_entry *entry = &checkpoint->entries[i];
        printf("%s  %s  [", entry->name, cs_dtype_safetensors(entry->dtype));
        for (int d = 0; d < entry->ndim; d++) printf("%s%" PRId64, d ? ", " : "", entry->shape[d]);
        puts("]");
    }
}

static enum cs_status make(struct making *making, int argc, char **argv) {
    CS_TRY(read_settings(making, argc, argv));
    CS_TRY(open_checkpoint(making));
    if (making->is_listing) {
        list_tensors(making->checkpoint);
        return CS_OK;
    }
    making->is_writing = true;
    return write_folder(making);
}

int cs_verb_make_checkpoint(int argc, char **argv) {
    struct making making = {0};
    sigset_t before;
    hold_signals(&before);
    enum cs_status status = make(&making, argc, argv);
    int code = status == CS_OK ? CS_EXIT_PASSED : cs_cli_fail(status);
    if (status == CS_BAD_FILE && making.is_writing) code = CS_EXIT_INTERNAL;
    cs_session_close(&making.session);
    cs_arena_release(&making.arena);
    sigprocmask(SIG_SETMASK, &before, NULL); /* one that waited ends us here */
    return code;
}
