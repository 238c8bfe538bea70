#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/checkpoint/checkpoint.h"
#include "tests/support_files.h"

/* ---- good files ---- */

static void a_file_is_read_in_the_order_of_its_header(void **state) {
    const char *path = path_in(*state, "a.safetensors");
    write_safetensors(path,
                      "{\"__metadata__\":{\"format\":\"pt\"},"
                      "\"z.weight\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[4,16]},"
                      "\"a.bias\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
                      16);
    struct cs_checkpoint checkpoint;
    assert_int_equal(cs_checkpoint_open(&checkpoint, "A", path), CS_OK);
    assert_string_equal(checkpoint.label, "A");
    assert_int_equal(checkpoint.n_entries, 2);
    const struct cs_checkpoint_entry *weight = &checkpoint.entries[0], *bias = &checkpoint.entries[1];
    assert_string_equal(weight->name, "z.weight");
    assert_int_equal(weight->dtype, CS_BF16);
    assert_int_equal(weight->ndim, 2);
    assert_int_equal(weight->shape[0], 2);
    assert_int_equal(weight->shape[1], 3);
    assert_int_equal(weight->bytes, 12);
    assert_memory_equal(weight->mapped, "\4\5\6\7\10\11\12\13\14\15\16\17", 12);
    assert_string_equal(bias->name, "a.bias");
    assert_int_equal(bias->ndim, 0);
    assert_memory_equal(bias->mapped, "\0\1\2\3", 4);
    assert_ptr_equal(cs_checkpoint_find(&checkpoint, "a.bias"), bias);
    assert_null(cs_checkpoint_find(&checkpoint, "a"));
    cs_checkpoint_close(&checkpoint);
    cs_checkpoint_close(&checkpoint);
}

/* What the format allows and careless readers refuse. */
static void unusual_but_legal_files_are_read(void **state) {
    static const struct {
        const char *header;
        size_t payload, n_entries;
    } legal[] = {
        {"{}", 0, 0},
        {"{}       ", 0, 0},
        {"{\"__metadata__\":{}}", 0, 0},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, 1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
         "\"b\":{\"dtype\":\"F64\",\"shape\":[4,0,2],\"data_offsets\":[3,3]},"
         "\"c\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[3,4]}}   ",
         4, 3},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3,2],\"data_offsets\":[0,3]}}", 3, 1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1, 1},
        {"{\"\xC3\xA9\\n\":{\"data_offsets\":[0,1],\"shape\":[1],\"dtype\":\"BOOL\",\"note\":1}}", 1, 1},
    };
    const char *path = path_in(*state, "a.safetensors");
    for (size_t i = 0; i < CS_COUNT(legal); i++) {
        struct cs_checkpoint checkpoint;
        write_safetensors(path, legal[i].header, legal[i].payload);
        if (cs_checkpoint_open(&checkpoint, NULL, path) != CS_OK) fail_msg("%s: %s", legal[i].header, cs_error_text());
        assert_int_equal(checkpoint.n_entries, legal[i].n_entries);
        assert_string_equal(checkpoint.label, path);
        cs_checkpoint_close(&checkpoint);
    }
}

/* ---- bad files ---- */

/* The message names the path and `said`, in one line, and nothing is left to close. */
static void assert_refused(const char *path, const char *said) {
    struct cs_checkpoint checkpoint;
    enum cs_status status = cs_checkpoint_open(&checkpoint, "A", path);
    if (status != CS_BAD_FILE)
        fail_msg("%s: %s instead of file: \"%s\"", said, cs_status_name(status), cs_error_text());
    if (!strstr(cs_error_text(), path)) fail_msg("no path in \"%s\"", cs_error_text());
    if (!strstr(cs_error_text(), said)) fail_msg("no \"%s\" in \"%s\"", said, cs_error_text());
    for (const char *c = cs_error_text(); *c; c++) assert_true((unsigned char)*c >= 0x20);
    assert_null(checkpoint.files);
    assert_null(checkpoint.arena.chunks);
}

#define TENSOR(name, dtype, shape, offsets)                                                                            \
    "\"" name "\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define ONE(dtype, shape, offsets) "{" TENSOR("a.b", dtype, shape, offsets) "}"
#define U8                         "\"U8\""

static const struct bad_header {
    const char *header;
    size_t payload;
    const char *said;
} bad_headers[] = {
    /* offsets */
    {ONE(U8, "[4]", "[0,4]"), 3, "\"a.b\": ends at byte 4 of the byte buffer, the file has 3"},
    {ONE(U8, "[4]", "[4,0]"), 4, "data_offsets is [4, 0]"},
    {ONE(U8, "[4]", "[1,5]"), 5, "begins at byte 1 of the byte buffer, but bytes from 0 on belong to no tensor"},
    {ONE(U8, "[4]", "[0,4]"), 5, "tensors end at byte 4 of the byte buffer, the file has 5"},
    {"{}", 1, "tensors end at byte 0 of the byte buffer, the file has 1"},
    {"{" TENSOR("a", U8, "[2]", "[0,2]") "," TENSOR("b", U8, "[2]", "[3,5]") "}", 5, "\"b\": begins at byte 3"},
    {"{" TENSOR("a", U8, "[2]", "[0,2]") "," TENSOR("b", U8, "[2]", "[1,3]") "}", 3,
     "inside of \"a\", which ends at 2"},
    {"{" TENSOR("b", U8, "[2]", "[1,3]") "," TENSOR("a", U8, "[2]", "[0,2]") "}", 3,
     "inside of \"a\", which ends at 2"},
    {"{" TENSOR("a", U8, "[2]", "[0,2]") "," TENSOR("b", U8, "[2]", "[0,2]") "}", 2,
     "inside of \"a\", which ends at 2"},
    {"{" TENSOR("a", U8, "[2]", "[0,2]") "," TENSOR("b", U8, "[0]", "[1,1]") "}", 2,
     "inside of \"a\", which ends at 2"},
    {ONE(U8, "[4]", "[0,-4]"), 4, "data_offsets[1] is -4, must be a whole number"},
    {ONE(U8, "[4]", "[0,4.0]"), 4, "data_offsets[1] is 4.0, must be a whole number"},
    {ONE(U8, "[4]", "[0,\"4\"]"), 4, "data_offsets[1] is \"4\", must be a whole number"},
    {ONE(U8, "[4]", "[0]"), 4, "data_offsets is [0], must be [begin, end]"},
    {ONE(U8, "[4]", "[0,2,4]"), 4, "data_offsets is [0,2,4], must be [begin, end]"},
    {ONE(U8, "[4]", "null"), 4, "data_offsets is null"},
    {ONE(U8, "[4]", "[0,9223372036854775807]"), 4, "ends at byte 9223372036854775807"},
    {ONE(U8, "[4]", "[0,9223372036854775808]"), 4, "not valid JSON near its byte"},
    {ONE(U8, "[4]", "[0,1e999]"), 4, "not valid JSON near its byte"},
    {"{\"__metadata__\":{\"a\":\"b\"},\"x.\\\"y\" : {\"dtype\":\"U8\",\"shape\":[4,],\"data_offsets\":[0,4]}}", 4, ", tensor \"x.\\\"y\": "},
    {"{\"x\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"y\":{\"dtype\"}}", 4, ", tensor \"y\": "},
    {ONE(U8, "[4]", "[0,NaN]"), 4, "not valid JSON near its byte"},
    /* shapes */
    {ONE(U8, "[3]", "[0,4]"), 4, "data_offsets span 4 bytes, U8[3] needs 3"},
    {ONE("\"F32\"", "[2]", "[0,4]"), 4, "data_offsets span 4 bytes, F32[2] needs 8"},
    {ONE(U8, "[-1]", "[0,4]"), 4, "\"a.b\": shape[0] is -1, must be a whole number from 0"},
    {ONE(U8, "[2,2.5]", "[0,4]"), 4, "shape[1] is 2.5, must be a whole number"},
    {ONE(U8, "[true]", "[0,1]"), 1, "shape[0] is true, must be a whole number"},
    {ONE(U8, "4", "[0,4]"), 4, "shape is 4, must be a list"},
    {ONE(U8, "[1,1,1,1,1,1,1]", "[0,1]"), 1, "has 7 dimensions, at most 6 are supported"},
    {ONE(U8, "[4294967296,4294967296]", "[0,4]"), 4, "\"a.b\": shape [4294967296,4294967296] is too large"},
    {ONE("\"F64\"", "[4611686018427387904]", "[0,4]"), 4, "shape [4611686018427387904] is too large"},
    {ONE(U8, "[18446744073709551616]", "[0,4]"), 4, "not valid JSON near its byte"},
    {ONE("\"F4\"", "[3]", "[0,2]"), 2, "shape [3] of F4 is 12 bits, must be whole bytes"},
    /* dtypes */
    {ONE("\"C64\"", "[1]", "[0,8]"), 8, "\"a.b\": dtype is \"C64\", must be one of U8 I8 "},
    {ONE("\"bf16\"", "[4]", "[0,8]"), 8, "dtype is \"bf16\", must be one of"},
    {ONE("7", "[4]", "[0,4]"), 4, "dtype is 7, must be one of"},
    /* structure */
    {"{\"a.b\":{\"shape\":[4],\"data_offsets\":[0,4]}}", 4, "\"a.b\": dtype is missing"},
    {"{\"a.b\":{\"dtype\":\"U8\",\"data_offsets\":[0,4]}}", 4, "\"a.b\": shape is missing"},
    {"{\"a.b\":{\"dtype\":\"U8\",\"shape\":[4]}}", 4, "\"a.b\": data_offsets is missing"},
    {"{\"a.b\":[]}", 0, "\"a.b\": is [], must be an object"},
    {"{\"__metadata__\":[]}", 0, "__metadata__ is [], must be an object of strings"},
    {"{\"__metadata__\":{\"k\":1}}", 0, "__metadata__ \"k\" is 1, must be a string"},
    {"{\"__metadata__\":{\"k\":{\"deep\":\"x\"}}}", 0, "__metadata__ \"k\" is {\"deep\":\"x\"}, must be a string"},
    {"{" TENSOR("a", U8, "[2]", "[0,2]") "," TENSOR("a", U8, "[2]", "[2,4]") "}", 4, "duplicate object key"},
    {"{\"a\\nb\":7}", 0, "tensor \"a?b\": is 7"},
    /* JSON */
    {"", 0, "does not begin with '{'"},
    {"[]", 0, "does not begin with '{'"},
    {" {}", 0, "does not begin with '{'"},
    {"{", 0, "not valid JSON near its byte 1"},
    {"{} {}", 0, "not valid JSON near its byte"},
    {"{\"a\":\x01}", 0, "not valid JSON near its byte"},
    {"{\"\xFF\":1}", 0, "not valid JSON near its byte"},
    {"{\"\xC0\x80\":1}", 0, "not valid JSON near its byte"},
    {"{\"a\\u0000b\":1}", 0, "not valid JSON near its byte"},
    {"{'a':1}", 0, "not valid JSON near its byte"},
};

static void bad_headers_are_refused_with_the_reason(void **state) {
    const char *path = path_in(*state, "a.safetensors");
    for (size_t i = 0; i < CS_COUNT(bad_headers); i++) {
        write_safetensors(path, bad_headers[i].header, bad_headers[i].payload);
        assert_refused(path, bad_headers[i].said);
    }
}

/* Every length from whole down to nothing. */
static void truncated_files_are_refused(void **state) {
    const char *path = path_in(*state, "a.safetensors"), *header = ONE(U8, "[4]", "[0,4]") "  ";
    off_t length = (off_t)strlen(header);
    struct cs_checkpoint checkpoint;
    write_safetensors(path, header, 4);
    assert_int_equal(cs_checkpoint_open(&checkpoint, "A", path), CS_OK);
    cs_checkpoint_close(&checkpoint);
    for (off_t size = 8 + length + 4; size-- > 0;) {
        assert_int_equal(truncate(path, size), 0);
        assert_refused(path, size < 8            ? "a safetensors file has at least 8"
                             : size < 8 + length ? "after the length: truncated?"
                                                 : "ends at byte 4 of the byte buffer");
    }
}

static void absurd_header_lengths_are_refused(void **state) {
    const char *path = path_in(*state, "a.safetensors");
    write_bytes(path, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10);
    assert_refused(path, "header of 18446744073709551615 bytes, the format's limit is 100000000");
    write_bytes(path, "\x01\xE1\xF5\x05\0\0\0\0{}", 10);
    assert_refused(path, "header of 100000001 bytes, the format's limit is 100000000");
    write_bytes(path, "\x00\xE1\xF5\x05\0\0\0\0{}", 10);
    assert_refused(path, "header of 100000000 bytes, the file has 2 after the length");
    write_bytes(path, "\2\0\0\0\0\0\0\0{\0", 10);
    assert_refused(path, "not valid JSON");
    write_bytes(path, "version https://git-lfs.github.com/spec/v1\n", 43);
    assert_refused(path, "git lfs pull");
}

static void deep_nesting_is_refused(void **state) {
    enum { DEPTH = 100000 };
    const char *path = path_in(*state, "a.safetensors");
    char *header = malloc(DEPTH + 8);
    assert_non_null(header);
    memcpy(header, "{\"a\":", 5);
    memset(header + 5, '[', DEPTH);
    header[5 + DEPTH] = '\0';
    write_safetensors(path, header, 0);
    assert_refused(path, "not valid JSON");
    free(header);
}

/* A name of 10 000 bytes is shortened, between characters, and the reason still fits. */
static void long_names_do_not_drown_the_message(void **state) {
    const char *path = path_in(*state, "a.safetensors");
    struct cs_arena arena = {0};
    char *name = cs_arena_alloc(&arena, 10001, 1);
    for (size_t i = 0; i < 10000; i += 2) memcpy(name + i, "\xC3\xA9", 2);
    write_safetensors(path, cs_arena_format(&arena, "{\"%s\":7}", name), 0);
    assert_refused(path, "\xA9...\": is 7, must be an object");
    cs_arena_release(&arena);
}

static void what_is_no_file_is_refused(void **state) {
    const char *folder = *state;
    assert_refused(path_in(folder, "none.safetensors"), "No such file");
    assert_int_equal(mkfifo(path_in(folder, "pipe"), 0600), 0);
    assert_refused(path_in(folder, "pipe"), "is not a regular file"); /* and does not wait for a writer */
    assert_int_equal(symlink("loop", path_in(folder, "loop")), 0);
    assert_refused(path_in(folder, "loop"), "symbolic links");
    assert_refused(path_in(folder, "pipe/x"), "Not a directory");
}

static void an_unreadable_file_is_refused(void **state) {
    const char *path = path_in(*state, "a.safetensors");
    write_safetensors(path, "{}", 0);
    assert_int_equal(chmod(path, 0), 0);
    if (!drop_root()) skip();
    assert_refused(path, "cannot be opened: Permission denied");
    regain_root();
}

/* ---- writing ---- */

static struct cs_checkpoint_entry entry_of(const char *name, enum cs_dtype dtype, int64_t rows, int64_t columns) {
    struct cs_checkpoint_entry entry = {.name = name, .dtype = dtype, .ndim = 2, .shape = {rows, columns}};
    entry.bytes = (size_t)(rows * columns * cs_dtype_bits(dtype) / 8);
    return entry;
}

static void a_written_file_is_read_back(void **state) {
    const char *path = path_in(*state, "out.safetensors");
    struct cs_checkpoint_entry entries[] = {entry_of("x\"\n\xC3\xA9", CS_U8, 1, 3), entry_of("empty", CS_F32, 0, 5),
                                            entry_of("y", CS_BF16, 2, 1)};
    const void *bytes[] = {"abc", NULL, "wxyz"};
    struct cs_checkpoint checkpoint;
    write_bytes(path, "an older file", 13);
    assert_int_equal(cs_safetensors_write(path, entries, bytes, 3), CS_OK);
    assert_int_equal(cs_checkpoint_open(&checkpoint, "B", path), CS_OK);
    assert_int_equal(checkpoint.n_entries, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct cs_checkpoint_entry *got = &checkpoint.entries[i];
        assert_string_equal(got->name, entries[i].name);
        assert_int_equal(got->dtype, entries[i].dtype);
        assert_memory_equal(got->shape, entries[i].shape, sizeof got->shape);
        assert_int_equal(got->bytes, entries[i].bytes);
        if (got->bytes) assert_memory_equal(got->mapped, bytes[i], got->bytes);
    }
    assert_int_equal((uintptr_t)checkpoint.entries[0].mapped % 8, 0); /* mapped at a page, header padded */
    cs_checkpoint_close(&checkpoint);
    assert_int_equal(count_files(*state), 1);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
}

static void bad_entries_are_not_written(void **state) {
    const char *path = path_in(*state, "out.safetensors");
    struct cs_checkpoint_entry twice[] = {entry_of("a", CS_U8, 1, 1), entry_of("a", CS_U8, 1, 1)};
    struct cs_checkpoint_entry reserved = entry_of("__metadata__", CS_U8, 1, 1), coded = entry_of("\xFF", CS_U8, 1, 1);
    struct cs_checkpoint_entry wrong = entry_of("a", CS_U8, 1, 1), nibble = entry_of("a", CS_E2M1, 1, 3);
    const void *bytes[] = {"x", "y"};
    wrong.bytes = 2;
    assert_int_equal(cs_safetensors_write(path, twice, bytes, 2), CS_BAD_VALUE);
    assert_int_equal(cs_safetensors_write(path, &reserved, bytes, 1), CS_BAD_VALUE);
    assert_int_equal(cs_safetensors_write(path, &coded, bytes, 1), CS_BAD_VALUE);
    assert_int_equal(cs_safetensors_write(path, &wrong, bytes, 1), CS_BAD_SHAPE);
    assert_int_equal(cs_safetensors_write(path, &nibble, bytes, 1), CS_BAD_SHAPE);
    assert_int_equal(count_files(*state), 0);
}

static enum cs_status write_one(const char *path) {
    static const unsigned char zeros[1 << 16];
    struct cs_checkpoint_entry entry = entry_of("a", CS_U8, 1, sizeof zeros);
    const void *bytes[] = {zeros};
    return cs_safetensors_write(path, &entry, bytes, 1);
}

static void a_failed_write_leaves_nothing(void **state) {
    const char *folder = *state, *target = path_in(folder, "out.safetensors");
    assert_int_equal(write_one(path_in(folder, "none/out.safetensors")), CS_BAD_FILE);
    assert_non_null(strstr(cs_error_text(), "none/out.safetensors: cannot be written: No such file"));
    assert_int_equal(mkdir(target, 0755), 0);
    assert_int_equal(write_one(target), CS_BAD_FILE); /* only the rename fails */
    assert_int_equal(count_files(folder), 1);
    assert_int_equal(count_files(target), 0);
}

static void an_unwritable_folder_stays_as_it_is(void **state) {
    const char *folder = *state;
    assert_int_equal(chmod(folder, 0555), 0);
    if (!drop_root()) skip();
    assert_int_equal(write_one(path_in(folder, "out.safetensors")), CS_BAD_FILE);
    assert_non_null(strstr(cs_error_text(), "Permission denied"));
    regain_root();
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(count_files(folder), 0);
}

/* A limit on file size stands for a full disk: the first bytes can be written, the rest cannot. */
static void a_full_disk_leaves_the_old_file(void **state) {
    const char *path = path_in(*state, "out.safetensors");
    write_safetensors(path, "{}", 0);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 8192;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum cs_status status = write_one(path);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, CS_BAD_FILE);
    assert_non_null(strstr(cs_error_text(), strerror(EFBIG)));
    assert_int_equal(count_files(*state), 1);
    struct cs_checkpoint checkpoint;
    assert_int_equal(cs_checkpoint_open(&checkpoint, "old", path), CS_OK);
    assert_int_equal(checkpoint.n_entries, 0);
    cs_checkpoint_close(&checkpoint);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_test_folder, remove_test_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_read_in_the_order_of_its_header),
        TEST(unusual_but_legal_files_are_read),
        TEST(bad_headers_are_refused_with_the_reason),
        TEST(truncated_files_are_refused),
        TEST(absurd_header_lengths_are_refused),
        TEST(deep_nesting_is_refused),
        TEST(long_names_do_not_drown_the_message),
        TEST(what_is_no_file_is_refused),
        TEST(an_unreadable_file_is_refused),
        TEST(a_written_file_is_read_back),
        TEST(bad_entries_are_not_written),
        TEST(a_failed_write_leaves_nothing),
        TEST(an_unwritable_folder_stays_as_it_is),
        TEST(a_full_disk_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
