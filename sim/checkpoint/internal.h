/* What the files of this folder share; nobody else includes it.
 *
 * A mapping is a read-only window on a whole regular file. Nothing here reads a file into memory: a header is parsed in
 * place, payload pages are only touched by whoever uses a tensor. A file that another process truncates while it is
 * mapped ends in SIGBUS, as with every program that maps checkpoints. */
#ifndef CS_CHECKPOINT_INTERNAL_H
#define CS_CHECKPOINT_INTERNAL_H

#include <jansson.h>

#include "sim/checkpoint/checkpoint.h"

struct cs_mapping {
    const unsigned char *data; /* NULL for an empty file */
    size_t size;
};

/* A mapped safetensors file: its tensors are entries [first_entry, first_entry + n_entries) of the checkpoint. */
struct cs_checkpoint_file {
    struct cs_checkpoint_file *next;
    const char *path;
    struct cs_mapping mapping;
    size_t first_entry, n_entries;
};

/* The reference implementation's limit on a header; an index is held to it too. */
enum { CS_HEADER_LIMIT = 100000000 };

#define CS_METADATA_KEY "__metadata__"

/* Maps the regular file at `path`. CS_BAD_FILE when it cannot be opened or is a folder, a pipe or a device. */
enum cs_status cs_mapping_open(const char *path, struct cs_mapping *mapping);
void cs_mapping_close(struct cs_mapping *mapping);

/* Parses the JSON object that starts at the very first byte of `text`. `what` is "header" or "index", for messages.
 * The caller owns `*root`. Duplicate keys, NUL bytes and invalid UTF-8 are refused. */
enum cs_status cs_json_object(const char *path, const char *what, const unsigned char *text, size_t size,
                              json_t **root);

/* Names out of files go into messages: one line, no control characters, at most CS_QUOTED - 1 bytes. Returns `buffer`.
 */
enum { CS_QUOTED = 160 };
const char *cs_quoted(const char *text, char buffer[CS_QUOTED]);

/* Bits of a tensor. CS_BAD_SHAPE as cs_view_make, or when they do not fit an int64_t. */
enum cs_status cs_tensor_bits(enum cs_dtype dtype, int ndim, const int64_t *shape, int64_t *bits);

/* Appends a copy of `entry`, its name included, whose name must be new. */
enum cs_status cs_checkpoint_append(struct cs_checkpoint *checkpoint, const struct cs_checkpoint_entry *entry);

/* What a perturbed copy does to bytes of a file (perturb.c). */
void cs_flip_low_bytes(unsigned char *bytes, size_t size, enum cs_dtype dtype, unsigned version);

/* CS_BAD_FILE: what a failed write, rename or the like says; `error` is its errno. */
enum cs_status cs_cannot_write(const char *path, int error);

/* Writes one safetensors file from a source, with the metadata that publishers give to those of torch models. */
enum cs_status cs_safetensors_stream(const char *path, const struct cs_checkpoint_entry *entries, size_t n,
                                     const struct cs_byte_source *source);

#define CS_INDEX_NAME "model.safetensors.index.json"

/* Maps one safetensors file and appends its tensors in the order of its header. */
enum cs_status cs_safetensors_read(struct cs_checkpoint *checkpoint, const char *path);

/* Appends what a folder holds: the shards of its index in the order of their names, or its only safetensors file. */
enum cs_status cs_folder_read(struct cs_checkpoint *checkpoint, const char *folder);

#endif
