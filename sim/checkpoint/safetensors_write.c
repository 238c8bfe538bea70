/* Writes a safetensors file. The header is padded with spaces so that the byte buffer starts at a multiple of 8. */
#include "sim/checkpoint/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- header ---- */

static json_t *list_of(const int64_t *numbers, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        if (json_array_append_new(list, json_integer(numbers[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static enum cs_status describe(json_t *header, const char *path, const struct cs_checkpoint_entry *entry, size_t *end) {
    int64_t bits;
    CS_TRY(cs_tensor_bits(entry->dtype, entry->ndim, entry->shape, &bits));
    CS_REQUIRE(bits % 8 == 0 && (uint64_t)bits / 8 == entry->bytes, CS_BAD_SHAPE,
               "%s: tensor \"%s\" has %zu bytes, its shape needs %" PRId64 " bits", path, entry->name, entry->bytes,
               bits);
    CS_REQUIRE(!json_object_get(header, entry->name) && !cs_text_equal(entry->name, CS_METADATA_KEY), CS_BAD_VALUE,
               "%s: the name \"%s\" is given twice or reserved: rename the tensor", path, entry->name);
    CS_REQUIRE(entry->bytes <= INT64_MAX - *end, CS_BAD_SHAPE, "%s: tensors exceed 2^63 bytes at \"%s\"", path,
               entry->name);
    int64_t offsets[] = {(int64_t)*end, (int64_t)(*end + entry->bytes)};
    json_t *item = json_pack("{s:s, s:o, s:o}", "dtype", cs_dtype_safetensors(entry->dtype), "shape",
                             list_of(entry->shape, entry->ndim), "data_offsets", list_of(offsets, 2));
    CS_REQUIRE(item, CS_NO_MEMORY, "%s: no memory for the header", path);
    CS_REQUIRE(json_object_set_new(header, entry->name, item) == 0, CS_BAD_VALUE,
               "%s: the name \"%s\" is not UTF-8: rename the tensor", path, entry->name);
    *end += entry->bytes;
    return CS_OK;
}

/* `*text` is the header with its padding, for free(). `format`: whose tensors they are, "pt"; NULL: no metadata. */
static enum cs_status make_header(const char *path, const struct cs_checkpoint_entry *entries, size_t n,
                                  const char *format, char **text) {
    json_t *header = format ? json_pack("{s:{s:s}}", CS_METADATA_KEY, "format", format) : json_object();
    CS_REQUIRE(header, CS_NO_MEMORY, "%s: no memory for the header", path);
    enum cs_status status = CS_OK;
    size_t end = 0;
    for (size_t i = 0; i < n && status == CS_OK; i++) status = describe(header, path, &entries[i], &end);
    char *plain = status == CS_OK ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (status != CS_OK) return status;
    size_t length = plain ? strlen(plain) : 0, padded = (length + 7) / 8 * 8;
    *text = plain ? realloc(plain, padded + 1) : NULL;
    if (!*text) free(plain);
    CS_REQUIRE(*text, CS_NO_MEMORY, "%s: no memory for the header", path);
    memset(*text + length, ' ', padded - length);
    (*text)[padded] = '\0';
    if (padded <= CS_HEADER_LIMIT) return CS_OK;
    free(*text);
    return cs_fail(CS_BAD_VALUE, "%s: header of %zu bytes, the format's limit is %d: write several files", path, padded,
                   CS_HEADER_LIMIT);
}

/* ---- file ---- */

static bool put(FILE *out, const void *bytes, size_t size) { return size == 0 || fwrite(bytes, 1, size, out) == size; }

enum cs_status cs_cannot_write(const char *path, int error) {
    return cs_fail(CS_BAD_FILE, "%s: cannot be written: %s: check the folder, its permissions and the free space", path,
                   strerror(error));
}

static enum cs_status put_header(FILE *out, const char *path, const char *header) {
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)strlen(header) >> 8 * i);
    bool is_written = put(out, length, sizeof length) && put(out, header, strlen(header));
    return is_written ? CS_OK : cs_cannot_write(path, errno);
}

/* What a file is made of: bytes in memory, or those of a source. */
struct payload {
    const struct cs_checkpoint_entry *entries;
    size_t n;
    const void *const *bytes;
    const struct cs_byte_source *source;
    void *chunk;
};

static enum cs_status put_entry(FILE *out, const char *path, const struct payload *payload, size_t index) {
    const struct cs_checkpoint_entry *entry = &payload->entries[index];
    if (payload->bytes) return put(out, payload->bytes[index], entry->bytes) ? CS_OK : cs_cannot_write(path, errno);
    for (size_t first = 0; first < entry->bytes; first += CS_CHUNK_BYTES) {
        size_t left = entry->bytes - first, size = left < CS_CHUNK_BYTES ? left : CS_CHUNK_BYTES;
        CS_TRY(payload->source->read(payload->source->context, entry, first, size, payload->chunk));
        if (!put(out, payload->chunk, size)) return cs_cannot_write(path, errno);
    }
    return CS_OK;
}

static enum cs_status put_all(FILE *out, const char *path, const char *header, const struct payload *payload) {
    CS_TRY(put_header(out, path, header));
    for (size_t i = 0; i < payload->n; i++) CS_TRY(put_entry(out, path, payload, i));
    return CS_OK;
}

/* A new file next to `path`; `*temporary` is its name, for free(). Not mkstemp: the file keeps the usual permissions.
 */
static FILE *create_beside(const char *path, char **temporary) {
    size_t room = strlen(path) + 48;
    *temporary = malloc(room);
    if (!*temporary) return NULL;
    int descriptor = -1;
    for (int attempt = 0; attempt < 100 && descriptor < 0; attempt++) {
        snprintf(*temporary, room, "%s.tmp-%ld-%d", path, (long)getpid(), attempt);
        descriptor = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST) return NULL;
    }
    FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (!out && descriptor >= 0) {
        close(descriptor);
        unlink(*temporary);
    }
    return out;
}

static enum cs_status write_file(const char *path, const char *header, const struct payload *payload) {
    char *temporary = NULL;
    FILE *out = create_beside(path, &temporary);
    enum cs_status status = out ? put_all(out, path, header, payload) : cs_cannot_write(path, errno);
    if (out) {
        if (fclose(out) != 0 && status == CS_OK) status = cs_cannot_write(path, errno);
        if (status == CS_OK && rename(temporary, path) != 0) status = cs_cannot_write(path, errno);
        if (status != CS_OK) unlink(temporary);
    }
    free(temporary);
    return status;
}

enum cs_status cs_safetensors_write(const char *path, const struct cs_checkpoint_entry *entries,
                                    const void *const *bytes, size_t n) {
    const struct payload payload = {.entries = entries, .n = n, .bytes = bytes};
    char *header = NULL;
    CS_TRY(make_header(path, entries, n, NULL, &header));
    enum cs_status status = write_file(path, header, &payload);
    free(header);
    return status;
}

enum cs_status cs_safetensors_stream(const char *path, const struct cs_checkpoint_entry *entries, size_t n,
                                     const struct cs_byte_source *source) {
    struct payload payload = {.entries = entries, .n = n, .source = source};
    char *header = NULL;
    CS_TRY(make_header(path, entries, n, "pt", &header));
    payload.chunk = malloc(CS_CHUNK_BYTES);
    enum cs_status status = payload.chunk ? write_file(path, header, &payload)
                                          : cs_fail(CS_NO_MEMORY, "%s: no memory for %d bytes", path, CS_CHUNK_BYTES);
    free(payload.chunk);
    free(header);
    return status;
}
