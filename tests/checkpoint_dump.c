/* Prints a checkpoint, one tensor a line: name, dtype, shape, FNV-1a 64 of its bytes; or writes a small fixed file.
 * The other half of tests/python/safetensors_roundtrip.py, which holds both against the public package.
 *
 *   checkpoint_dump PATH
 *   checkpoint_dump --write PATH */
#include <stdio.h>
#include <string.h>

#include "sim/checkpoint/checkpoint.h"

static int complain(void) {
    fprintf(stderr, "checkpoint_dump: %s\n", cs_error_text());
    return 1;
}

static int dump(const char *path) {
    struct cs_checkpoint checkpoint;
    if (cs_checkpoint_open(&checkpoint, "dump", path) != CS_OK) return complain();
    for (size_t i = 0; i < checkpoint.n_entries; i++) {
        const struct cs_checkpoint_entry *entry = &checkpoint.entries[i];
        printf("%s %s [", entry->name, cs_dtype_safetensors(entry->dtype));
        for (int d = 0; d < entry->ndim; d++) printf("%s%" PRId64, d ? "," : "", entry->shape[d]);
        printf("] %016" PRIx64 "\n", cs_fnv1a64(CS_FNV1A64_START, entry->mapped, entry->bytes));
    }
    cs_checkpoint_close(&checkpoint);
    return 0;
}

/* Byte i of tensor t is (7 i + t) modulo 256; the bool tensor keeps the lowest bit. */
static int write_fixed(const char *path) {
    enum { LARGEST = 64 };
    static const struct cs_checkpoint_entry entries[] = {
        {.name = "bytes", .dtype = CS_U8, .ndim = 1, .shape = {5}, .bytes = 5},
        {.name = "layer.0.weight \"\xC3\xA9\"", .dtype = CS_F32, .ndim = 2, .shape = {2, 3}, .bytes = 24},
        {.name = "scalar", .dtype = CS_I64, .ndim = 0, .bytes = 8},
        {.name = "half", .dtype = CS_F16, .ndim = 3, .shape = {2, 1, 4}, .bytes = 16},
        {.name = "empty", .dtype = CS_I32, .ndim = 2, .shape = {0, 4}, .bytes = 0},
        {.name = "flags", .dtype = CS_BOOL, .ndim = 1, .shape = {3}, .bytes = 3},
        {.name = "brain", .dtype = CS_BF16, .ndim = 1, .shape = {32}, .bytes = 64},
    };
    unsigned char content[CS_COUNT(entries)][LARGEST];
    const void *bytes[CS_COUNT(entries)];
    for (size_t t = 0; t < CS_COUNT(entries); t++) {
        unsigned mask = entries[t].dtype == CS_BOOL ? 1 : 0xFF;
        for (size_t i = 0; i < LARGEST; i++) content[t][i] = (unsigned char)((7 * i + t) & mask);
        bytes[t] = content[t];
    }
    return cs_safetensors_write(path, entries, bytes, CS_COUNT(entries)) == CS_OK ? 0 : complain();
}

int main(int argc, char **argv) {
    if (argc == 2) return dump(argv[1]);
    if (argc == 3 && strcmp(argv[1], "--write") == 0) return write_fixed(argv[2]);
    fprintf(stderr, "usage: checkpoint_dump PATH | checkpoint_dump --write PATH\n");
    return 2;
}
