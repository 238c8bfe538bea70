/* One safetensors file: 8 bytes N (little-endian), a JSON header of N bytes, then the byte buffer.
 *
 *   {"name": {"dtype": "BF16", "shape": [32, 64], "data_offsets": [0, 4096]}, …, "__metadata__": {"text": "text"}}
 *
 * Offsets count from the start of the byte buffer. Sorted by offset, tensors must cover it without overlap and without
 * holes; their order in the header is free. Source: the safetensors format description. */
#include "sim/checkpoint/internal.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8 };

#define AGAIN "download or export it again"

struct span {
    uint64_t begin, end;
    size_t entry;
};

struct reader {
    struct cs_checkpoint *checkpoint;
    struct cs_checkpoint_file *file;
    const unsigned char *buffer; /* the byte buffer */
    uint64_t buffer_bytes;
    struct span *spans;     /* one per tensor read so far */
    char tensor[CS_QUOTED]; /* the tensor in hand */
};

#define REQUIRE(reader, condition, ...)                                                                                \
    do {                                                                                                               \
        if (!(condition)) return REFUSE((reader), __VA_ARGS__);                                                        \
    } while (0)
#define REFUSE(reader, format, ...)                                                                                    \
    cs_fail(CS_BAD_FILE, "%s: tensor \"%s\": " format, (reader)->file->path, (reader)->tensor, __VA_ARGS__)

/* ---- the numbers of one tensor ---- */

/* A JSON value as short text on one line, for messages. */
static const char *shown(const json_t *value, char buffer[CS_QUOTED]) {
    if (!value) return "missing";
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    cs_quoted(text ? text : "unreadable", buffer);
    free(text);
    return buffer;
}

static enum cs_status read_number(const struct reader *reader, const json_t *value, const char *what, size_t index,
                                  int64_t *number) {
    char buffer[CS_QUOTED];
    REQUIRE(reader, json_is_integer(value) && json_integer_value(value) >= 0,
            "%s[%zu] is %s, must be a whole number from 0 to 2^63 - 1: " AGAIN, what, index, shown(value, buffer));
    *number = json_integer_value(value);
    return CS_OK;
}

static enum cs_status read_dtype(const struct reader *reader, const json_t *value, enum cs_dtype *dtype) {
    static const char known[] = ""
#define X(id, name, safetensors, bits, floating) " " safetensors
        CS_DTYPES(X)
#undef X
        ;
    const char *word = json_string_value(value);
    for (int i = 0; word && i < CS_N_DTYPES; i++) {
        *dtype = (enum cs_dtype)i;
        if (cs_text_equal(word, cs_dtype_safetensors(*dtype))) return CS_OK;
    }
    char buffer[CS_QUOTED];
    return REFUSE(reader, "dtype is %s, must be one of%s: convert the tensor", shown(value, buffer), known);
}

static enum cs_status read_shape(const struct reader *reader, const json_t *value, struct cs_checkpoint_entry *entry) {
    char buffer[CS_QUOTED];
    REQUIRE(reader, json_is_array(value), "shape is %s, must be a list: " AGAIN, shown(value, buffer));
    REQUIRE(reader, json_array_size(value) <= CS_NDIM,
            "shape %s has %zu dimensions, at most %d are supported: flatten some", shown(value, buffer),
            json_array_size(value), CS_NDIM);
    entry->ndim = (int)json_array_size(value);
    for (size_t d = 0; d < json_array_size(value); d++)
        CS_TRY(read_number(reader, json_array_get(value, d), "shape", d, &entry->shape[d]));
    int64_t bits;
    enum cs_status status = cs_tensor_bits(entry->dtype, entry->ndim, entry->shape, &bits);
    REQUIRE(reader, status == CS_OK, "shape %s is too large: %s", shown(value, buffer), cs_error_text());
    REQUIRE(reader, bits % 8 == 0, "shape %s of %s is %" PRId64 " bits, must be whole bytes: pad the last dimension",
            shown(value, buffer), cs_dtype_safetensors(entry->dtype), bits);
    entry->bytes = (size_t)bits / 8;
    return CS_OK;
}

static enum cs_status read_offsets(const struct reader *reader, const json_t *value, struct span *span) {
    char buffer[CS_QUOTED];
    REQUIRE(reader, json_is_array(value) && json_array_size(value) == 2,
            "data_offsets is %s, must be [begin, end]: " AGAIN, shown(value, buffer));
    int64_t begin, end;
    CS_TRY(read_number(reader, json_array_get(value, 0), "data_offsets", 0, &begin));
    CS_TRY(read_number(reader, json_array_get(value, 1), "data_offsets", 1, &end));
    REQUIRE(reader, begin <= end, "data_offsets is [%" PRId64 ", %" PRId64 "], which ends before it begins: " AGAIN,
            begin, end);
    REQUIRE(reader, (uint64_t)end <= reader->buffer_bytes,
            "ends at byte %" PRId64 " of the byte buffer, the file has %" PRIu64 ": truncated? " AGAIN, end,
            reader->buffer_bytes);
    span->begin = (uint64_t)begin;
    span->end = (uint64_t)end;
    return CS_OK;
}

/* ---- one tensor ---- */

/* Names are unique within a header, so a name that is known already came with an earlier shard. */
static enum cs_status refuse_duplicate(const struct reader *reader, const char *name) {
    const struct cs_checkpoint *checkpoint = reader->checkpoint;
    const struct cs_checkpoint_entry *earlier = cs_checkpoint_find(checkpoint, name);
    if (!earlier) return CS_OK;
    size_t index = (size_t)(earlier - checkpoint->entries);
    const struct cs_checkpoint_file *file = checkpoint->files;
    while (file->next && !(index >= file->first_entry && index - file->first_entry < file->n_entries))
        file = file->next;
    return REFUSE(reader, "is in %s too: keep one of them", file->path);
}

static enum cs_status read_tensor(struct reader *reader, const char *name, const json_t *value) {
    struct cs_checkpoint_entry entry = {.name = name};
    struct span *span = &reader->spans[reader->file->n_entries];
    char buffer[CS_QUOTED];
    cs_quoted(name, reader->tensor);
    REQUIRE(reader, json_is_object(value), "is %s, must be an object of dtype, shape and data_offsets: " AGAIN,
            shown(value, buffer));
    CS_TRY(read_dtype(reader, json_object_get(value, "dtype"), &entry.dtype));
    CS_TRY(read_shape(reader, json_object_get(value, "shape"), &entry));
    CS_TRY(read_offsets(reader, json_object_get(value, "data_offsets"), span));
    REQUIRE(reader, span->end - span->begin == entry.bytes,
            "data_offsets span %" PRIu64 " bytes, %s%s needs %zu: " AGAIN, span->end - span->begin,
            cs_dtype_safetensors(entry.dtype), shown(json_object_get(value, "shape"), buffer), entry.bytes);
    CS_TRY(refuse_duplicate(reader, name));
    entry.mapped = reader->buffer + span->begin;
    span->entry = reader->checkpoint->n_entries;
    CS_TRY(cs_checkpoint_append(reader->checkpoint, &entry));
    reader->file->n_entries++;
    return CS_OK;
}

/* ---- the whole header ---- */

static int by_place(const void *left, const void *right) {
    const struct span *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1; /* empty tensors first: they sit on a border */
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* "The byte buffer needs to be entirely indexed, and cannot contain holes." */
static enum cs_status check_cover(struct reader *reader) {
    const struct cs_checkpoint_entry *entries = reader->checkpoint->entries;
    size_t n = reader->file->n_entries;
    uint64_t covered = 0;
    char before[CS_QUOTED];
    if (n) qsort(reader->spans, n, sizeof *reader->spans, by_place);
    for (size_t i = 0; i < n; i++) {
        const struct span *span = &reader->spans[i];
        cs_quoted(entries[span->entry].name, reader->tensor);
        REQUIRE(reader, span->begin >= covered,
                "begins at byte %" PRIu64 " of the byte buffer, inside of \"%s\", which ends at %" PRIu64 ": " AGAIN,
                span->begin, cs_quoted(entries[reader->spans[i - 1].entry].name, before), covered);
        REQUIRE(reader, span->begin == covered,
                "begins at byte %" PRIu64 " of the byte buffer, but bytes from %" PRIu64
                " on belong to no tensor: " AGAIN,
                span->begin, covered);
        covered = span->end;
    }
    CS_REQUIRE(covered == reader->buffer_bytes, CS_BAD_FILE,
               "%s: tensors end at byte %" PRIu64 " of the byte buffer, the file has %" PRIu64 ": " AGAIN,
               reader->file->path, covered, reader->buffer_bytes);
    return CS_OK;
}

static enum cs_status check_metadata(const struct reader *reader, json_t *metadata) {
    const char *path = reader->file->path;
    char name[CS_QUOTED], buffer[CS_QUOTED];
    CS_REQUIRE(json_is_object(metadata), CS_BAD_FILE,
               "%s: " CS_METADATA_KEY " is %s, must be an object of strings: " AGAIN, path, shown(metadata, buffer));
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value)
        CS_REQUIRE(json_is_string(value), CS_BAD_FILE, "%s: " CS_METADATA_KEY " \"%s\" is %s, must be a string: " AGAIN,
                   path, cs_quoted(key, name), shown(value, buffer));
    return CS_OK;
}

static enum cs_status read_header(struct reader *reader, json_t *header) {
    const char *name;
    json_t *value;
    json_object_foreach(header, name, value) {
        if (cs_text_equal(name, CS_METADATA_KEY))
            CS_TRY(check_metadata(reader, value));
        else
            CS_TRY(read_tensor(reader, name, value));
    }
    return check_cover(reader);
}

/* The length and, for the two things that people most often hold in their hands instead, a hint. */
static enum cs_status read_length(const struct cs_checkpoint_file *file, uint64_t *length) {
    static const char pointer[] = "version https://git-lfs";
    const unsigned char *data = file->mapping.data;
    size_t size = file->mapping.size;
    CS_REQUIRE(size >= LENGTH_BYTES, CS_BAD_FILE,
               "%s: has %zu bytes, a safetensors file has at least %d: empty or truncated, " AGAIN, file->path, size,
               LENGTH_BYTES);
    CS_REQUIRE(size < sizeof pointer || memcmp(data, pointer, sizeof pointer - 1) != 0, CS_BAD_FILE,
               "%s: is a Git LFS pointer, not the file itself: run \"git lfs pull\"", file->path);
    for (int i = LENGTH_BYTES; i-- > 0;) *length = *length << 8 | data[i];
    CS_REQUIRE(*length <= CS_HEADER_LIMIT, CS_BAD_FILE,
               "%s: header of %" PRIu64 " bytes, the format's limit is %d: not a safetensors file, or damaged",
               file->path, *length, CS_HEADER_LIMIT);
    CS_REQUIRE(*length <= size - LENGTH_BYTES, CS_BAD_FILE,
               "%s: header of %" PRIu64 " bytes, the file has %zu after the length: truncated? " AGAIN, file->path,
               *length, size - LENGTH_BYTES);
    return CS_OK;
}

static enum cs_status read_file(struct cs_checkpoint *checkpoint, struct cs_checkpoint_file *file) {
    uint64_t length = 0;
    CS_TRY(read_length(file, &length));
    const unsigned char *text = file->mapping.data + LENGTH_BYTES;
    json_t *header;
    CS_TRY(cs_json_object(file->path, "header", text, (size_t)length, &header));
    struct cs_arena scratch = {0};
    struct reader reader = {.checkpoint = checkpoint, .file = file, .buffer = text + length};
    reader.buffer_bytes = file->mapping.size - LENGTH_BYTES - length;
    reader.spans = CS_NEW_ARRAY(&scratch, struct span, json_object_size(header));
    enum cs_status status = reader.spans ? read_header(&reader, header)
                                         : cs_fail(CS_NO_MEMORY, "%s: no memory for its tensors", file->path);
    cs_arena_release(&scratch);
    json_decref(header);
    return status;
}

enum cs_status cs_safetensors_read(struct cs_checkpoint *checkpoint, const char *path) {
    struct cs_checkpoint_file *file = CS_NEW(&checkpoint->arena, struct cs_checkpoint_file);
    char *copy = cs_arena_text(&checkpoint->arena, path);
    CS_REQUIRE(file && copy, CS_NO_MEMORY, "%s: no memory to open it", path);
    file->path = copy;
    file->first_entry = checkpoint->n_entries;
    file->next = checkpoint->files;
    checkpoint->files = file; /* before mapping: close unmaps whatever is in this list */
    CS_TRY(cs_mapping_open(path, &file->mapping));
    return read_file(checkpoint, file);
}
