/* A folder: model.safetensors.index.json with the shards that it names, or one safetensors file alone.
 *
 *   {"metadata": {"total_size": 4096}, "weight_map": {"name": "model-00001-of-00002.safetensors", …}}
 *
 * Only weight_map matters. It and the shards must agree both ways: an engine that trusts one of them would silently
 * leave a tensor unloaded. */
#include "sim/checkpoint/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AGAIN "download the folder again"

struct index {
    struct cs_checkpoint *checkpoint;
    const char *folder, *path;
    json_t *weight_map;
    struct cs_arena scratch;
    const char **shards; /* sorted, each once */
    size_t n_shards;
};

static char *path_in(struct cs_arena *arena, const char *folder, const char *name) {
    size_t length = strlen(folder);
    return cs_arena_format(arena, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", name);
}

/* ---- which shards ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* A shard is a plain name in the folder: a path could lead out of it. */
static bool is_plain_name(const char *shard) {
    for (const char *c = shard; *c; c++)
        if (*c == '/' || *c == '\\' || (unsigned char)*c < 0x20 || *c == 0x7F) return false;
    return *shard && !cs_text_equal(shard, ".") && !cs_text_equal(shard, "..");
}

static enum cs_status list_shards(struct index *index) {
    size_t n = 0, kept = 0;
    index->shards = CS_NEW_ARRAY(&index->scratch, const char *, json_object_size(index->weight_map));
    CS_REQUIRE(index->shards, CS_NO_MEMORY, "%s: no memory for its tensors", index->path);
    const char *name;
    json_t *value;
    json_object_foreach(index->weight_map, name, value) {
        char tensor[CS_QUOTED], shard[CS_QUOTED];
        CS_REQUIRE(json_is_string(value), CS_BAD_FILE, "%s: tensor \"%s\" has no file name: " AGAIN, index->path,
                   cs_quoted(name, tensor));
        CS_REQUIRE(is_plain_name(json_string_value(value)), CS_BAD_FILE,
                   "%s: tensor \"%s\" is in \"%s\", which is no file name inside this folder: correct the index",
                   index->path, cs_quoted(name, tensor), cs_quoted(json_string_value(value), shard));
        index->shards[n++] = json_string_value(value);
    }
    qsort(index->shards, n, sizeof *index->shards, by_text);
    for (size_t i = 0; i < n; i++)
        if (!kept || !cs_text_equal(index->shards[i], index->shards[kept - 1]))
            index->shards[kept++] = index->shards[i];
    index->n_shards = kept;
    return CS_OK;
}

/* All missing shards at once: whoever downloads them wants the list. */
static enum cs_status check_shards_exist(struct index *index) {
    const char *missing = NULL;
    size_t n_missing = 0;
    for (size_t i = 0; i < index->n_shards; i++) {
        struct stat info;
        const char *path = path_in(&index->scratch, index->folder, index->shards[i]);
        CS_REQUIRE(path, CS_NO_MEMORY, "%s: no memory for the path of \"%s\"", index->path, index->shards[i]);
        if (stat(path, &info) == 0 || (errno != ENOENT && errno != ENOTDIR)) continue; /* opening it says more */
        if (n_missing++ < 16)
            missing = cs_arena_format(&index->scratch, "%s%s%s", missing ? missing : "", missing ? ", " : "",
                                      index->shards[i]);
        CS_REQUIRE(missing, CS_NO_MEMORY, "%s: no memory for its missing shards", index->path);
    }
    CS_REQUIRE(!n_missing, CS_BAD_FILE, "%s: %zu of its %zu shards are missing: %s%s: download them", index->path,
               n_missing, index->n_shards, missing, n_missing > 16 ? " and more" : "");
    return CS_OK;
}

/* ---- index against shards ---- */

static enum cs_status check_shard(const struct index *index, const struct cs_checkpoint_file *file) {
    const char *shard = strrchr(file->path, '/') + 1;
    for (size_t i = 0; i < file->n_entries; i++) {
        char tensor[CS_QUOTED], elsewhere[CS_QUOTED];
        const char *name = index->checkpoint->entries[file->first_entry + i].name;
        const char *said = json_string_value(json_object_get(index->weight_map, name));
        CS_REQUIRE(said, CS_BAD_FILE, "%s: tensor \"%s\" of shard \"%s\" is not in the index: " AGAIN, index->path,
                   cs_quoted(name, tensor), shard);
        CS_REQUIRE(cs_text_equal(said, shard), CS_BAD_FILE,
                   "%s: tensor \"%s\" is in shard \"%s\", the index says \"%s\": " AGAIN, index->path,
                   cs_quoted(name, tensor), shard, cs_quoted(said, elsewhere));
    }
    return CS_OK;
}

static enum cs_status check_all_found(const struct index *index) {
    const char *name;
    json_t *shard;
    json_object_foreach(index->weight_map, name, shard) {
        char tensor[CS_QUOTED];
        CS_REQUIRE(cs_checkpoint_find(index->checkpoint, name), CS_BAD_FILE,
                   "%s: tensor \"%s\" is not in shard \"%s\", where the index says: " AGAIN, index->path,
                   cs_quoted(name, tensor), json_string_value(shard));
    }
    return CS_OK;
}

/* A tensor in two shards is noticed while reading the second one, so all are read before any is held to the index. */
static enum cs_status read_shards(struct index *index) {
    struct cs_checkpoint *checkpoint = index->checkpoint;
    for (size_t i = 0; i < index->n_shards; i++) {
        const char *path = path_in(&index->scratch, index->folder, index->shards[i]);
        CS_REQUIRE(path, CS_NO_MEMORY, "%s: no memory for the path of \"%s\"", index->path, index->shards[i]);
        CS_TRY(cs_safetensors_read(checkpoint, path));
    }
    for (const struct cs_checkpoint_file *file = checkpoint->files; file; file = file->next)
        CS_TRY(check_shard(index, file));
    return check_all_found(index);
}

static enum cs_status read_weight_map(struct index *index, json_t *root) {
    index->weight_map = json_object_get(root, "weight_map");
    CS_REQUIRE(json_object_size(index->weight_map) > 0, CS_BAD_FILE, /* 0 for whatever is no object */
               "%s: weight_map is missing, empty or no object, must name a file for each tensor: " AGAIN, index->path);
    CS_TRY(list_shards(index));
    CS_TRY(check_shards_exist(index));
    return read_shards(index);
}

static enum cs_status read_index(struct index *index) {
    struct cs_mapping mapping;
    json_t *root = NULL;
    CS_TRY(cs_mapping_open(index->path, &mapping));
    enum cs_status status = CS_OK;
    if (mapping.size > CS_HEADER_LIMIT)
        status = cs_fail(CS_BAD_FILE, "%s: has %zu bytes, the limit of an index is %d", index->path, mapping.size,
                         CS_HEADER_LIMIT);
    else
        status = cs_json_object(index->path, "index", mapping.data, mapping.size, &root);
    cs_mapping_close(&mapping); /* jansson copied every string */
    if (status != CS_OK) return status;
    status = read_weight_map(index, root);
    json_decref(root);
    return status;
}

/* ---- a folder without an index ---- */

static enum cs_status find_only_file(struct cs_arena *arena, const char *folder, const char **only) {
    static const char suffix[] = ".safetensors";
    size_t n = 0;
    DIR *listing = opendir(folder);
    CS_REQUIRE(listing, CS_BAD_FILE, "%s: cannot be listed: %s", folder, strerror(errno));
    for (struct dirent *item; (item = readdir(listing));) {
        size_t length = strlen(item->d_name);
        if (item->d_name[0] == '.' || length < sizeof suffix) continue; /* hidden files, as a shell's pattern */
        if (cs_text_equal(item->d_name + length - (sizeof suffix - 1), suffix) && n++ == 0)
            *only = path_in(arena, folder, item->d_name);
    }
    closedir(listing);
    CS_REQUIRE(n > 0, CS_BAD_FILE,
               "%s: has neither " CS_INDEX_NAME " nor a *.safetensors file: is it the right folder?", folder);
    CS_REQUIRE(n == 1, CS_BAD_FILE,
               "%s: has %zu *.safetensors files and no " CS_INDEX_NAME ": download it, or name one file", folder, n);
    CS_REQUIRE(*only, CS_NO_MEMORY, "%s: no memory for the path of its file", folder);
    return CS_OK;
}

static enum cs_status read_folder(struct index *index) {
    struct stat info;
    index->path = path_in(&index->scratch, index->folder, CS_INDEX_NAME);
    CS_REQUIRE(index->path, CS_NO_MEMORY, "%s: no memory for the path of its index", index->folder);
    if (lstat(index->path, &info) == 0) return read_index(index); /* a link to nowhere is an error, not a lack */
    const char *only = NULL;
    CS_TRY(find_only_file(&index->scratch, index->folder, &only));
    return cs_safetensors_read(index->checkpoint, only);
}

enum cs_status cs_folder_read(struct cs_checkpoint *checkpoint, const char *folder) {
    struct index index = {.checkpoint = checkpoint, .folder = folder};
    enum cs_status status = read_folder(&index);
    cs_arena_release(&index.scratch);
    return status;
}
