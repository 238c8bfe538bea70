/* Writes a folder of shards with its index, as Hugging Face publishes checkpoints. The number of shards is part of
 * every name, so it is settled before the first byte is written. */
#include "sim/checkpoint/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct shard {
    const char *name;
    size_t first, n; /* entries */
};

struct writer {
    const struct cs_checkpoint_entry *entries;
    size_t n, n_shards;
    struct shard *shards;
    const char *path, *temporary; /* without a slash at the end */
    const struct cs_byte_source *source;
    struct cs_arena arena;
};

static enum cs_status no_memory(const struct writer *writer) {
    return cs_fail(CS_NO_MEMORY, "%s: no memory for the names of %zu tensors", writer->path, writer->n);
}

/* ---- shards ---- */

static enum cs_status name_shards(struct writer *writer) {
    for (size_t i = 0; i < writer->n_shards; i++) {
        struct shard *shard = &writer->shards[i];
        shard->name = writer->n_shards == 1 ? "model.safetensors"
                                            : cs_arena_format(&writer->arena, "model-%05zu-of-%05zu.safetensors", i + 1,
                                                              writer->n_shards);
        if (!shard->name) return no_memory(writer);
    }
    return CS_OK;
}

/* A shard is full when the next tensor would exceed the limit. */
static enum cs_status split(struct writer *writer, uint64_t max_bytes) {
    uint64_t filled = 0;
    writer->shards = CS_NEW_ARRAY(&writer->arena, struct shard, writer->n);
    if (!writer->shards) return no_memory(writer);
    for (size_t i = 0; i < writer->n; i++) {
        uint64_t bytes = writer->entries[i].bytes;
        if (i == 0 || bytes > max_bytes || filled > max_bytes - bytes) {
            writer->shards[writer->n_shards++].first = i;
            filled = 0;
        }
        filled += bytes;
        writer->shards[writer->n_shards - 1].n++;
    }
    return name_shards(writer);
}

static char *path_in(struct writer *writer, const char *name) {
    return cs_arena_format(&writer->arena, "%s/%s", writer->temporary, name);
}

static enum cs_status write_shards(struct writer *writer) {
    for (size_t i = 0; i < writer->n_shards; i++) {
        const struct shard *shard = &writer->shards[i];
        const char *path = path_in(writer, shard->name);
        if (!path) return no_memory(writer);
        CS_TRY(cs_safetensors_stream(path, writer->entries + shard->first, shard->n, writer->source));
    }
    return CS_OK;
}

/* ---- index ---- */

static uint64_t total_bytes(const struct writer *writer) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < writer->n; i++) bytes += writer->entries[i].bytes;
    return bytes;
}

static json_t *make_index(const struct writer *writer) {
    json_t *map = json_object();
    int failures = 0;
    for (size_t i = 0; i < writer->n_shards; i++) {
        const struct shard *shard = &writer->shards[i];
        for (size_t j = shard->first; j < shard->first + shard->n; j++)
            failures += json_object_set_new(map, writer->entries[j].name, json_string(shard->name)) != 0;
    }
    json_t *index =
        json_pack("{s:{s:I}, s:o}", "metadata", "total_size", (json_int_t)total_bytes(writer), "weight_map", map);
    if (!failures) return index;
    json_decref(index);
    return NULL;
}

static enum cs_status write_index(struct writer *writer) {
    if (writer->n_shards == 1) return CS_OK;
    const char *path = path_in(writer, CS_INDEX_NAME);
    json_t *index = make_index(writer);
    if (!path || !index) {
        json_decref(index);
        return no_memory(writer);
    }
    enum cs_status status = cs_write_json(path, index, JSON_INDENT(2) | JSON_SORT_KEYS);
    json_decref(index);
    return status;
}

/* ---- the folder ---- */

static enum cs_status check_is_empty(const char *path) {
    DIR *folder = opendir(path);
    CS_REQUIRE(folder, CS_BAD_USAGE, "\"%s\" cannot be read: %s", path, strerror(errno));
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        n += !cs_text_equal(entry->d_name, ".") && !cs_text_equal(entry->d_name, "..");
    closedir(folder);
    CS_REQUIRE(n == 0, CS_BAD_USAGE, "\"%s\" is there already and not empty: name a new folder", path);
    return CS_OK;
}

static enum cs_status check_is_free(const char *path) {
    struct stat found;
    if (lstat(path, &found) != 0 && errno == ENOENT) return CS_OK;
    CS_REQUIRE(lstat(path, &found) == 0, CS_BAD_USAGE, "\"%s\" cannot be read: %s", path, strerror(errno));
    CS_REQUIRE(S_ISDIR(found.st_mode), CS_BAD_USAGE, "\"%s\" is there already and no folder: name a new one", path);
    return check_is_empty(path);
}

static enum cs_status make_temporary(struct writer *writer) {
    for (int attempt = 0; attempt < 100; attempt++) {
        writer->temporary = cs_arena_format(&writer->arena, "%s.tmp-%ld-%d", writer->path, (long)getpid(), attempt);
        if (!writer->temporary) return no_memory(writer);
        if (mkdir(writer->temporary, 0777) == 0) return CS_OK;
        if (errno != EEXIST) break;
    }
    return cs_fail(CS_BAD_USAGE, "\"%s\" cannot be created: %s", writer->path, strerror(errno));
}

/* Shards leave no temporary files of their own, so these names are all there can be. */
static void remove_temporary(struct writer *writer) {
    for (size_t i = 0; i <= writer->n_shards; i++) {
        const char *path = path_in(writer, i < writer->n_shards ? writer->shards[i].name : CS_INDEX_NAME);
        if (path) unlink(path);
    }
    rmdir(writer->temporary);
}

static enum cs_status fill_and_rename(struct writer *writer) {
    CS_TRY(write_shards(writer));
    CS_TRY(write_index(writer));
    return rename(writer->temporary, writer->path) == 0 ? CS_OK : cs_cannot_write(writer->path, errno);
}

static enum cs_status write_folder(struct writer *writer, uint64_t max_shard_bytes) {
    CS_REQUIRE(writer->path, CS_NO_MEMORY, "no memory for the name of a folder");
    CS_REQUIRE(writer->n > 0, CS_BAD_USAGE, "\"%s\": a checkpoint without tensors", writer->path);
    CS_TRY(check_is_free(writer->path));
    CS_TRY(split(writer, max_shard_bytes));
    CS_TRY(make_temporary(writer));
    enum cs_status status = fill_and_rename(writer);
    if (status != CS_OK) remove_temporary(writer);
    return status;
}

enum cs_status cs_folder_write(const char *path, const struct cs_checkpoint_entry *entries, size_t n,
                               uint64_t max_shard_bytes, const struct cs_byte_source *source,
                               struct cs_folder_written *written) {
    struct writer writer = {.entries = entries, .n = n, .source = source};
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    writer.path = cs_arena_format(&writer.arena, "%.*s", (int)length, path);
    enum cs_status status = write_folder(&writer, max_shard_bytes);
    *written = (struct cs_folder_written){.n_shards = writer.n_shards, .bytes = total_bytes(&writer)};
    cs_arena_release(&writer.arena);
    return status;
}
