#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/checkpoint/checkpoint.h"
#include "tests/support_files.h"

/* Sources have no device memory, so their allocator needs none. */
static struct cs_allocator make_allocator(void) {
    struct cs_allocator allocator;
    const struct cs_memory none = {0};
    cs_allocator_init(&allocator, &cs_allocator_harshest, &none, 1);
    return allocator;
}

/* Bits of the index-th element of a source, whatever it is made of. */
static uint64_t element(const struct cs_view *view, int64_t index) {
    uint64_t position = (uint64_t)cs_view_element(view, index), bits = 0;
    const struct cs_storage *storage = view->storage;
    if (storage->kind == CS_STORAGE_SYNTHETIC) return cs_content_element(&storage->content, view->dtype, position);
    const unsigned char *data = storage->data;
    unsigned width = (unsigned)cs_dtype_bits(view->dtype);
    if (width == 4) return data[position / 2] >> position % 2 * 4 & 0xF;
    memcpy(&bits, data + position * width / 8, width / 8);
    return bits;
}

static struct cs_view source_of(const struct cs_checkpoint *checkpoint, const char *name,
                                struct cs_allocator *allocator) {
    struct cs_view view;
    const struct cs_checkpoint_entry *entry = cs_checkpoint_find(checkpoint, name);
    assert_non_null(entry);
    assert_int_equal(cs_checkpoint_source(checkpoint, entry, allocator, &view), CS_OK);
    assert_true(cs_view_is_contiguous(&view));
    return view;
}

static enum cs_status add(struct cs_checkpoint *checkpoint, const char *name, enum cs_dtype dtype, int64_t rows,
                          int64_t columns, struct cs_content content) {
    const int64_t shape[] = {rows, columns};
    return cs_checkpoint_add(checkpoint, name, dtype, 2, shape, &content);
}

/* ---- entries ---- */

static void names_are_found_among_many(void **state) {
    (void)state;
    struct cs_checkpoint checkpoint;
    char name[32];
    cs_checkpoint_init(&checkpoint, "A");
    assert_null(cs_checkpoint_find(&checkpoint, "layer.0"));
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "layer.%d", i);
        assert_int_equal(add(&checkpoint, name, CS_U8, i, 1, cs_checkpoint_hash_content(1, name, CS_U8)), CS_OK);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "layer.%d", i);
        assert_ptr_equal(cs_checkpoint_find(&checkpoint, name), &checkpoint.entries[i]);
        assert_int_equal(checkpoint.entries[i].bytes, i);
    }
    assert_null(cs_checkpoint_find(&checkpoint, "layer.1000"));
    assert_null(cs_checkpoint_find(&checkpoint, ""));
    cs_checkpoint_close(&checkpoint);
}

static void bad_entries_are_refused(void **state) {
    (void)state;
    struct cs_checkpoint checkpoint;
    struct cs_content bytes = {.kind = CS_CONTENT_HASH, .as = CS_U8}, words = {.kind = CS_CONTENT_HASH, .as = CS_F32};
    cs_checkpoint_init(&checkpoint, "A");
    assert_int_equal(add(&checkpoint, "a", CS_U8, 2, 2, bytes), CS_OK);
    assert_int_equal(add(&checkpoint, "a", CS_U8, 2, 2, bytes), CS_BAD_VALUE);
    assert_string_equal(cs_error_text(), "checkpoint \"A\" has a tensor \"a\" already");
    assert_int_equal(add(&checkpoint, "b", CS_U8, 2, 2, words), CS_BAD_TYPE);
    assert_int_equal(add(&checkpoint, "b", CS_U8, -1, 2, bytes), CS_BAD_SHAPE);
    assert_int_equal(add(&checkpoint, "b", CS_U8, INT64_MAX, 2, bytes), CS_BAD_SHAPE);
    assert_int_equal(add(&checkpoint, "b", CS_F32, INT64_MAX / 8, 1, words), CS_BAD_SHAPE);
    assert_int_equal(checkpoint.n_entries, 1);
    assert_null(cs_checkpoint_find(&checkpoint, "b"));
    cs_checkpoint_close(&checkpoint);
}

/* Byte i = ((i + fnv1a32(name) + 1000003 version) * 2654435761 mod 2^32) >> 24; fnv1a32("foobar") = 0xbf9cf968. */
static void the_pattern_follows_its_formula(void **state) {
    (void)state;
    struct cs_content content = cs_checkpoint_pattern_content("foobar", CS_U8, 1);
    for (uint64_t i = 0; i < 100; i++) {
        uint32_t product = (uint32_t)((i + 0xbf9cf968u + 1000003u) * UINT64_C(2654435761));
        assert_int_equal(cs_content_element(&content, CS_U8, i), product >> 24);
    }
}

/* ---- sources ---- */

/* Whoever computes a slice alone gets what a reader of the whole tensor gets at the same place. */
static void a_slice_of_a_synthetic_source_equals_the_whole(void **state) {
    (void)state;
    enum { ROWS = 40, COLUMNS = 24 };
    for (int d = 0; d < CS_N_DTYPES; d++) {
        struct cs_checkpoint checkpoint;
        struct cs_allocator allocator = make_allocator();
        enum cs_dtype dtype = (enum cs_dtype)d;
        cs_checkpoint_init(&checkpoint, "A");
        assert_int_equal(add(&checkpoint, "w", dtype, ROWS, COLUMNS, cs_checkpoint_hash_content(7, "w", dtype)), CS_OK);
        struct cs_view whole = source_of(&checkpoint, "w", &allocator), slice = source_of(&checkpoint, "w", &allocator);
        assert_int_equal(whole.storage->kind, CS_STORAGE_SYNTHETIC);
        assert_true(whole.storage->id != slice.storage->id);
        assert_int_equal(cs_view_narrow(&slice, 0, 13, 20), CS_OK);
        assert_int_equal(cs_view_narrow(&slice, 1, 5, 16), CS_OK);
        for (int64_t row = 0; row < 20; row++)
            for (int64_t column = 0; column < 16; column++)
                assert_true(element(&slice, row * 16 + column) == element(&whole, (13 + row) * COLUMNS + 5 + column));
        cs_allocator_close(&allocator);
        cs_checkpoint_close(&checkpoint);
    }
}

/* Bytes depend on seed and name alone, not on what else is in the checkpoint. */
static void content_depends_on_seed_and_name_alone(void **state) {
    (void)state;
    struct cs_content content = cs_checkpoint_hash_content(7, "w", CS_U8),
                      other_seed = cs_checkpoint_hash_content(8, "w", CS_U8),
                      other_name = cs_checkpoint_hash_content(7, "v", CS_U8),
                      again = cs_checkpoint_hash_content(7, "w", CS_U8);
    assert_true(content.key == again.key);
    assert_true(content.key != other_seed.key);
    assert_true(content.key != other_name.key);
}

/* ---- perturbed copies ---- */

enum { ELEMENTS = 2048 };

/* All versions of tensor "t", pairwise, element for element. */
static void assert_versions_differ_everywhere(const struct cs_checkpoint *original, uint64_t seed) {
    struct cs_allocator allocator = make_allocator();
    struct cs_checkpoint copies[CS_CHECKPOINT_VERSIONS];
    struct cs_view views[CS_CHECKPOINT_VERSIONS];
    views[0] = source_of(original, "t", &allocator);
    for (unsigned v = 1; v < CS_CHECKPOINT_VERSIONS; v++) {
        assert_int_equal(cs_checkpoint_perturb(&copies[v], "copy", original, v, seed), CS_OK);
        views[v] = source_of(&copies[v], "t", &allocator);
    }
    for (int64_t i = 0; i < cs_view_numel(&views[0]); i++)
        for (int a = 0; a < CS_CHECKPOINT_VERSIONS; a++)
            for (int b = 0; b < a; b++)
                if (element(&views[a], i) == element(&views[b], i))
                    fail_msg("%s: versions %d and %d agree in element %d", cs_dtype_name(views[0].dtype), a, b, (int)i);
    cs_allocator_close(&allocator);
    for (unsigned v = 1; v < CS_CHECKPOINT_VERSIONS; v++) cs_checkpoint_close(&copies[v]);
}

/* Two scales that must agree are computed from one name: so do their copies, which differ from them. */
static void tensors_of_one_name_agree_in_every_copy(void **state) {
    (void)state;
    struct cs_allocator allocator = make_allocator();
    const struct cs_content content = cs_checkpoint_hash_content(1, "slot", CS_F32);
    struct cs_checkpoint original, copy;
    cs_checkpoint_init(&original, "A");
    assert_int_equal(add(&original, "gate", CS_F32, 1, ELEMENTS, content), CS_OK);
    assert_int_equal(add(&original, "up", CS_F32, 1, ELEMENTS, content), CS_OK);
    for (size_t i = 0; i < 2; i++) original.entries[i].contents_of = "slot";
    for (unsigned version = 1; version < CS_CHECKPOINT_VERSIONS; version++) {
        assert_int_equal(cs_checkpoint_perturb(&copy, "B", &original, version, 1), CS_OK);
        struct cs_view old = source_of(&original, "gate", &allocator), gate = source_of(&copy, "gate", &allocator),
                       up = source_of(&copy, "up", &allocator);
        for (int64_t i = 0; i < ELEMENTS; i++) {
            assert_int_equal(element(&gate, i), element(&up, i));
            assert_int_not_equal(element(&gate, i), element(&old, i));
        }
        cs_checkpoint_close(&copy);
    }
    cs_allocator_close(&allocator);
    cs_checkpoint_close(&original);
}

static void check_synthetic(enum cs_dtype dtype, struct cs_content content, uint64_t seed) {
    struct cs_checkpoint original;
    cs_checkpoint_init(&original, "A");
    assert_int_equal(add(&original, "t", dtype, 1, ELEMENTS, content), CS_OK);
    assert_versions_differ_everywhere(&original, seed);
    cs_checkpoint_close(&original);
}

static void synthetic_versions_differ_everywhere(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++)
        for (int d = 0; d < CS_N_DTYPES; d++) {
            enum cs_dtype dtype = (enum cs_dtype)d;
            check_synthetic(dtype, cs_checkpoint_hash_content(seed, "t", dtype), seed);
            check_synthetic(dtype, cs_checkpoint_pattern_content("t", dtype, 0), seed);
            check_synthetic(dtype, (struct cs_content){.kind = CS_CONTENT_VALUE, .as = dtype, .key = 5}, seed);
            check_synthetic(dtype, (struct cs_content){.kind = CS_CONTENT_ZERO, .as = dtype}, seed);
        }
    check_synthetic(CS_U8, cs_checkpoint_hash_content(1, "t", CS_E8M0), 1);
    check_synthetic(CS_U8, cs_checkpoint_hash_content(1, "t", CS_E4M3), 1);
}

/* A file that holds every byte value; versions of it must not touch the mapped bytes. */
static void file_versions_differ_everywhere(void **state) {
    const char *path = path_in(*state, "a.safetensors");
    for (int d = 0; d < CS_N_DTYPES; d++) {
        struct cs_checkpoint original;
        struct cs_arena arena = {0};
        enum cs_dtype dtype = (enum cs_dtype)d;
        const char *name = cs_dtype_safetensors(dtype);
        write_safetensors(path,
                          cs_arena_format(&arena, "{\"t\":{\"dtype\":\"%s\",\"shape\":[%d],\"data_offsets\":[0,2048]}}",
                                          name, 2048 * 8 / cs_dtype_bits(dtype)),
                          2048);
        assert_int_equal(cs_checkpoint_open(&original, "A", path), CS_OK);
        assert_versions_differ_everywhere(&original, 1);
        for (size_t i = 0; i < 2048; i++)
            assert_int_equal(((const unsigned char *)original.entries[0].mapped)[i], i % 256);
        cs_checkpoint_close(&original);
        cs_arena_release(&arena);
    }
}

/* Low byte first: version 5 of the 16-bit words 0100 0302 is 0105 0307 (hexadecimal). */
static void a_file_version_flips_the_low_byte(void **state) {
    const char *path = path_in(*state, "a.safetensors");
    struct cs_checkpoint original, copy;
    struct cs_allocator allocator = make_allocator();
    write_safetensors(path, "{\"t\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4);
    assert_int_equal(cs_checkpoint_open(&original, "A", path), CS_OK);
    assert_int_equal(cs_checkpoint_perturb(&copy, "B", &original, 5, 1), CS_OK);
    struct cs_view mapped = source_of(&original, "t", &allocator), flipped = source_of(&copy, "t", &allocator);
    assert_int_equal(mapped.storage->kind, CS_STORAGE_HOST);
    assert_ptr_equal(mapped.storage->data, original.entries[0].mapped);
    assert_false(mapped.storage->owns_data);
    assert_int_equal(flipped.storage->kind, CS_STORAGE_HOST);
    assert_true(flipped.storage->owns_data);
    assert_memory_equal(flipped.storage->data, "\5\1\7\3", 4);
    cs_allocator_close(&allocator);
    cs_checkpoint_close(&copy);
    cs_checkpoint_close(&original);
}

static void only_originals_have_versions_1_to_7(void **state) {
    (void)state;
    struct cs_checkpoint original, copy, bad;
    cs_checkpoint_init(&original, "A");
    assert_int_equal(add(&original, "t", CS_U8, 1, 4, cs_checkpoint_hash_content(1, "t", CS_U8)), CS_OK);
    assert_int_equal(cs_checkpoint_perturb(&bad, "B", &original, 0, 1), CS_BAD_VALUE);
    assert_int_equal(cs_checkpoint_perturb(&bad, "B", &original, 8, 1), CS_BAD_VALUE);
    assert_string_equal(cs_error_text(), "checkpoint \"B\": version 8, must be 1 to 7");
    assert_int_equal(cs_checkpoint_perturb(&copy, "B", &original, 1, 1), CS_OK);
    assert_int_equal(cs_checkpoint_perturb(&bad, "C", &copy, 1, 1), CS_BAD_VALUE);
    assert_int_equal(add(&original, "digits", CS_U8, 1, 4, (struct cs_content){.kind = CS_CONTENT_DIGIT, .as = CS_U8}),
                     CS_OK);
    assert_int_equal(cs_checkpoint_perturb(&bad, "C", &original, 1, 1), CS_UNSUPPORTED);
    assert_null(bad.arena.chunks);
    cs_checkpoint_close(&copy);
    cs_checkpoint_close(&original);
}

/* ---- folders ---- */

#define BYTE(name, offsets) "\"" name "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":" offsets "}"
#define INDEX               "model.safetensors.index.json"

static void write_index(const char *folder, const char *weight_map) {
    char text[512];
    int length = snprintf(text, sizeof text, "{\"metadata\":{\"total_size\":3},\"weight_map\":%s}", weight_map);
    write_bytes(path_in(folder, INDEX), text, (size_t)length);
}

static void write_two_shards(const char *folder) {
    write_safetensors(path_in(folder, "1.safetensors"), "{" BYTE("a", "[0,1]") "}", 1);
    write_safetensors(path_in(folder, "2.safetensors"), "{" BYTE("c", "[1,2]") "," BYTE("b", "[0,1]") "}", 2);
}

static void assert_folder_refused(const char *folder, const char *said) {
    struct cs_checkpoint checkpoint;
    enum cs_status status = cs_checkpoint_open(&checkpoint, "A", folder);
    if (status != CS_BAD_FILE)
        fail_msg("%s: %s instead of file: \"%s\"", said, cs_status_name(status), cs_error_text());
    if (!strstr(cs_error_text(), said)) fail_msg("no \"%s\" in \"%s\"", said, cs_error_text());
    if (!strstr(cs_error_text(), folder)) fail_msg("no folder in \"%s\"", cs_error_text());
    for (const char *c = cs_error_text(); *c; c++) assert_true((unsigned char)*c >= 0x20);
    assert_null(checkpoint.arena.chunks);
}

/* Shards by name, whatever the order of the index; within a shard as in its header. */
static void a_folder_is_read_shard_after_shard(void **state) {
    struct cs_checkpoint checkpoint;
    char folder[128];
    write_two_shards(*state);
    write_index(*state, "{\"c\":\"2.safetensors\",\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}");
    write_bytes(path_in(*state, "unrelated.safetensors"), "", 0);
    snprintf(folder, sizeof folder, "%s/", (const char *)*state); /* a slash at the end is no matter */
    assert_int_equal(cs_checkpoint_open(&checkpoint, "A", folder), CS_OK);
    assert_int_equal(checkpoint.n_entries, 3);
    assert_string_equal(checkpoint.entries[0].name, "a");
    assert_string_equal(checkpoint.entries[1].name, "c");
    assert_string_equal(checkpoint.entries[2].name, "b");
    assert_int_equal(*(const unsigned char *)checkpoint.entries[1].mapped, 1);
    cs_checkpoint_close(&checkpoint);
}

static void index_and_shards_must_agree(void **state) {
    static const struct {
        const char *weight_map, *said;
    } bad[] = {
        {"{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}", "\"c\" of shard \"2.safetensors\" is not in the index"},
        {"{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\",\"c\":\"1.safetensors\"}",
         "\"c\" is in shard \"2.safetensors\", the index says \"1.safetensors\""},
        {"{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\",\"c\":\"2.safetensors\",\"d\":\"1.safetensors\"}",
         "\"d\" is not in shard \"1.safetensors\""},
        {"{\"a\":\"1.safetensors\",\"b\":\"7.safetensors\",\"c\":\"9.safetensors\"}",
         "2 of its 3 shards are missing: 7.safetensors, 9.safetensors"},
        {"{\"a\":\"../1.safetensors\"}", "\"a\" is in \"../1.safetensors\", which is no file name inside this folder"},
        {"{\"a\":\"/etc/passwd\"}", "no file name inside"},
        {"{\"a\":\"sub\\\\1.safetensors\"}", "no file name inside"},
        {"{\"a\":\"..\"}", "no file name inside"},
        {"{\"a\":\"\"}", "no file name inside"},
        {"{\"a\":\"1.safe\\ntensors\"}", "\"1.safe?tensors\", which is no file name inside"},
        {"{\"a\":1}", "\"a\" has no file name"},
        {"{\"a\":\"1.safetensors\",\"a\":\"1.safetensors\"}", "duplicate object key"},
        {"{}", "weight_map is missing, empty or no object"},
        {"[]", "weight_map is missing, empty or no object"},
        {"7", "weight_map is missing, empty or no object"},
        {"{", "not valid JSON"},
    };
    write_two_shards(*state);
    for (size_t i = 0; i < CS_COUNT(bad); i++) {
        write_index(*state, bad[i].weight_map);
        assert_folder_refused(*state, bad[i].said);
    }
    write_bytes(path_in(*state, INDEX), "{}", 2);
    assert_folder_refused(*state, "weight_map is missing");
    write_bytes(path_in(*state, INDEX), "", 0);
    assert_folder_refused(*state, "the index does not begin with '{'");
}

static void a_tensor_in_two_shards_is_refused(void **state) {
    const char *folder = *state;
    write_safetensors(path_in(folder, "1.safetensors"), "{" BYTE("a", "[0,1]") "," BYTE("b", "[1,2]") "}", 2);
    write_safetensors(path_in(folder, "2.safetensors"), "{" BYTE("b", "[0,1]") "}", 1);
    write_index(folder, "{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}");
    assert_folder_refused(folder, "2.safetensors: tensor \"b\": is in ");
    assert_non_null(strstr(cs_error_text(), "1.safetensors too"));
}

static void a_bad_shard_spoils_the_folder(void **state) {
    const char *folder = *state;
    write_two_shards(folder);
    write_index(folder, "{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\",\"c\":\"2.safetensors\"}");
    assert_int_equal(truncate(path_in(folder, "2.safetensors"), 20), 0);
    assert_folder_refused(folder, "2.safetensors: header of");
    assert_int_equal(unlink(path_in(folder, "2.safetensors")), 0);
    assert_int_equal(mkdir(path_in(folder, "2.safetensors"), 0755), 0);
    assert_folder_refused(folder, "2.safetensors: is not a regular file");
}

static void a_folder_without_an_index_has_one_file(void **state) {
    const char *folder = *state;
    struct cs_checkpoint checkpoint;
    assert_folder_refused(folder, "has neither model.safetensors.index.json nor a *.safetensors file");
    write_bytes(path_in(folder, "config.json"), "{}", 2);
    write_bytes(path_in(folder, ".hidden.safetensors"), "", 0);
    write_bytes(path_in(folder, "safetensors"), "", 0);
    assert_folder_refused(folder, "has neither");
    write_two_shards(folder);
    assert_folder_refused(folder, "has 2 *.safetensors files and no model.safetensors.index.json");
    assert_int_equal(unlink(path_in(folder, "2.safetensors")), 0);
    assert_int_equal(cs_checkpoint_open(&checkpoint, NULL, folder), CS_OK);
    assert_string_equal(checkpoint.entries[0].name, "a");
    assert_string_equal(checkpoint.label, folder);
    cs_checkpoint_close(&checkpoint);
}

/* As model hubs' caches lay folders out; but a link to nowhere must not pass for a folder without an index. */
static void links_are_followed(void **state) {
    const char *folder = *state;
    struct cs_checkpoint checkpoint;
    write_safetensors(path_in(folder, "blob"), "{" BYTE("a", "[0,1]") "}", 1);
    assert_int_equal(symlink("blob", path_in(folder, "model.safetensors")), 0);
    assert_int_equal(cs_checkpoint_open(&checkpoint, "A", folder), CS_OK);
    cs_checkpoint_close(&checkpoint);
    assert_int_equal(symlink("nowhere", path_in(folder, INDEX)), 0);
    assert_folder_refused(folder, INDEX ": cannot be opened: No such file");
}

static void a_folder_that_cannot_be_listed_is_refused(void **state) {
    const char *folder = *state;
    assert_int_equal(chmod(folder, 0), 0);
    if (!drop_root()) skip();
    assert_folder_refused(folder, "cannot be listed: Permission denied");
    regain_root();
    assert_int_equal(chmod(folder, 0755), 0);
}

/* One element of one tensor: 2.5 is 0x4020 in bf16. Of e2m1, two in a byte, 6 is 7. */
static void a_copy_may_differ_in_one_element(void **state) {
    (void)state;
    struct cs_checkpoint original, copy, bad;
    const struct cs_content ones = {.kind = CS_CONTENT_VALUE, .as = CS_BF16, .key = 0x3F80}, nibbles = {.kind = CS_CONTENT_ZERO, .as = CS_E2M1};
    cs_checkpoint_init(&original, "A");
    assert_int_equal(cs_checkpoint_add(&original, "w", CS_BF16, 2, (const int64_t[]){2, 3}, &ones), CS_OK);
    assert_int_equal(cs_checkpoint_add(&original, "n", CS_E2M1, 1, (const int64_t[]){4}, &nibbles), CS_OK);
    assert_int_equal(cs_checkpoint_add(&original, "s", CS_BF16, 0, NULL, &ones), CS_OK);
    struct cs_arena arena = {0};
    unsigned char *bytes;
    assert_int_equal(cs_checkpoint_patch(&copy, "B", &original, &(struct cs_checkpoint_change){"w", 2, {1, 0}, 2.5}), CS_OK);
    assert_int_equal(cs_checkpoint_bytes(&copy, cs_checkpoint_find(&copy, "w"), &arena, &bytes), CS_OK);
    const uint16_t expected[] = {0x3F80, 0x3F80, 0x3F80, 0x4020, 0x3F80, 0x3F80};
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(cs_checkpoint_bytes(&copy, cs_checkpoint_find(&copy, "n"), &arena, &bytes), CS_OK);
    assert_memory_equal(bytes, "\0\0", 2);
    cs_checkpoint_close(&copy);
    assert_int_equal(cs_checkpoint_patch(&copy, "B", &original, &(struct cs_checkpoint_change){"n", 1, {3}, 6}), CS_OK);
    assert_int_equal(cs_checkpoint_bytes(&copy, cs_checkpoint_find(&copy, "n"), &arena, &bytes), CS_OK);
    assert_memory_equal(bytes, "\0\x70", 2);
    cs_checkpoint_close(&copy);
    static const struct {
        struct cs_checkpoint_change change;
        enum cs_status status;
        const char *message;
    } rows[] = {
        {{"x", 1, {0}, 1}, CS_BAD_VALUE, "checkpoint B: its original A has no tensor \"x\" to change"},
        {{"w", 2, {0, 3}, 1}, CS_BAD_INDEX, "checkpoint B: element 3 of dimension 1 of tensor \"w\", which has 3"},
        {{"w", 1, {0}, 1}, CS_BAD_INDEX, "checkpoint B: tensor \"w\" has 2 dimensions, and its element is named by 1 index: give one for each dimension"},
        {{"w", 5, {0, 1, 99, 7, 7}, 1}, CS_BAD_INDEX, "checkpoint B: tensor \"w\" has 2 dimensions, and its element is named by 5 indices: give one for each dimension"},
        {{"n", 2, {0, 0}, 1}, CS_BAD_INDEX, "checkpoint B: tensor \"n\" has 1 dimension, and its element is named by 2 indices: give one for each dimension"},
        {{"s", 2, {0, 0}, 1}, CS_BAD_INDEX, "checkpoint B: tensor \"s\" has 0 dimensions, and its element is named by 2 indices: give 0"},
        {{"s", 1, {1}, 1}, CS_BAD_INDEX, "checkpoint B: element 1 of dimension 0 of tensor \"s\", which has 1"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        assert_int_equal(cs_checkpoint_patch(&bad, "B", &original, &rows[i].change), rows[i].status);
        assert_string_equal(cs_error_text(), rows[i].message);
    }
    assert_int_equal(cs_checkpoint_patch(&copy, "B", &original, &(struct cs_checkpoint_change){"s", 1, {0}, 2.5}), CS_OK);
    assert_int_equal(cs_checkpoint_bytes(&copy, cs_checkpoint_find(&copy, "s"), &arena, &bytes), CS_OK);
    assert_memory_equal(bytes, "\x20\x40", 2);
    cs_checkpoint_close(&copy);
    cs_arena_release(&arena);
    cs_checkpoint_close(&original);
}

/* ones, then 2.5 at [1]; perturbed: bits of numbers that are given flip by the version; then 2 at [0]. */
static void copies_of_copies_keep_what_was_changed(void **state) {
    (void)state;
    struct cs_checkpoint original, patched, perturbed, again;
    const struct cs_content ones = {.kind = CS_CONTENT_VALUE, .as = CS_BF16, .key = 0x3F80};
    cs_checkpoint_init(&original, "A");
    assert_int_equal(cs_checkpoint_add(&original, "w", CS_BF16, 1, (const int64_t[]){3}, &ones), CS_OK);
    assert_int_equal(cs_checkpoint_patch(&patched, "B", &original, &(struct cs_checkpoint_change){"w", 1, {1}, 2.5}), CS_OK);
    assert_int_equal(cs_checkpoint_perturb(&perturbed, "C", &patched, 3, 1), CS_OK);
    assert_int_equal(cs_checkpoint_patch(&again, "D", &perturbed, &(struct cs_checkpoint_change){"w", 1, {0}, 2}), CS_OK);
    struct cs_arena arena = {0};
    unsigned char *bytes;
    assert_int_equal(cs_checkpoint_bytes(&again, cs_checkpoint_find(&again, "w"), &arena, &bytes), CS_OK);
    const uint16_t expected[] = {0x4000, 0x4020 ^ 3, 0x3F80 ^ 3};
    assert_memory_equal(bytes, expected, sizeof expected);
    cs_arena_release(&arena);
    cs_checkpoint_close(&again);
    cs_checkpoint_close(&perturbed);
    cs_checkpoint_close(&patched);
    cs_checkpoint_close(&original);
}

#define WITH_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_test_folder, remove_test_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_among_many),
        cmocka_unit_test(tensors_of_one_name_agree_in_every_copy),
        cmocka_unit_test(bad_entries_are_refused),
        cmocka_unit_test(the_pattern_follows_its_formula),
        cmocka_unit_test(a_slice_of_a_synthetic_source_equals_the_whole),
        cmocka_unit_test(content_depends_on_seed_and_name_alone),
        cmocka_unit_test(synthetic_versions_differ_everywhere),
        WITH_FOLDER(file_versions_differ_everywhere),
        WITH_FOLDER(a_file_version_flips_the_low_byte),
        cmocka_unit_test(only_originals_have_versions_1_to_7),
        cmocka_unit_test(copies_of_copies_keep_what_was_changed),
        cmocka_unit_test(a_copy_may_differ_in_one_element),
        WITH_FOLDER(a_folder_is_read_shard_after_shard),
        WITH_FOLDER(index_and_shards_must_agree),
        WITH_FOLDER(a_tensor_in_two_shards_is_refused),
        WITH_FOLDER(a_bad_shard_spoils_the_folder),
        WITH_FOLDER(a_folder_without_an_index_has_one_file),
        WITH_FOLDER(links_are_followed),
        WITH_FOLDER(a_folder_that_cannot_be_listed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
