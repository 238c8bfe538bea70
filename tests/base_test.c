#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "sim/base/base.h"
#include "tests/support_files.h"

static void a_failure_keeps_its_message(void **state) {
    (void)state;
    assert_int_equal(cs_fail(CS_BAD_SHAPE, "%d rows", 7), CS_BAD_SHAPE);
    assert_string_equal(cs_error_text(), "7 rows");
    cs_fail(CS_BAD_FILE, "file: %s", cs_error_text());
    assert_string_equal(cs_error_text(), "file: 7 rows");
    assert_string_equal(cs_status_name(CS_BAD_INDEX), "index");
}

static void the_arena_zeroes_aligns_and_refuses_overflow(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    for (int i = 1; i < 2000; i++) {
        unsigned char *p = cs_arena_alloc(&arena, (size_t)i, 1);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (int j = 0; j < i; j++) assert_int_equal(p[j], 0);
        memset(p, 0xFF, (size_t)i);
    }
    assert_null(cs_arena_alloc(&arena, SIZE_MAX / 2, 4));
    assert_null(cs_arena_alloc(&arena, SIZE_MAX, 1));
    assert_string_equal(cs_arena_format(&arena, "%s-%d", "x", 3), "x-3");
    cs_arena_release(&arena);
    assert_null(arena.chunks);
}

static void growing_keeps_what_was_there(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    void *items = NULL;
    size_t capacity = 0;
    for (size_t n = 0; n < 100; n++) *(size_t *)cs_arena_grow(&arena, &items, n, &capacity, sizeof(size_t)) = n * n;
    for (size_t n = 0; n < 100; n++) assert_int_equal(((size_t *)items)[n], n * n);
    cs_arena_release(&arena);
}

static void rewinding_keeps_one_chunk_which_is_zeroed_again(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    cs_arena_rewind(&arena);
    assert_null(arena.chunks);
    char *one = cs_arena_alloc(&arena, 8, 1);
    for (size_t n = 1 << 10; n <= 1 << 20; n *= 2) memset(cs_arena_alloc(&arena, n, 1), 0xFF, n); /* chunk after chunk */
    assert_non_null(one);
    const struct cs_arena_chunk *largest = arena.chunks;
    cs_arena_rewind(&arena);
    assert_ptr_equal(arena.chunks, largest);
    const char *again = cs_arena_alloc(&arena, 1 << 20, 1);
    assert_ptr_equal(arena.chunks, largest); /* it is large enough */
    for (int i = 0; i < 1 << 20; i++) assert_int_equal(again[i], 0);
    cs_arena_release(&arena);
}

/* Published test vectors of FNV-1a (Noll): "" and "foobar". */
static void fnv1a_matches_the_published_vectors(void **state) {
    (void)state;
    assert_int_equal(cs_fnv1a32(""), 0x811c9dc5u);
    assert_int_equal(cs_fnv1a32("foobar"), 0xbf9cf968u);
    assert_true(cs_fnv1a64(CS_FNV1A64_START, "", 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(cs_fnv1a64(CS_FNV1A64_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
}

static void streams_differ_by_name_index_and_seed(void **state) {
    (void)state;
    uint64_t keys[] = {cs_stream_key(1, "a", 0), cs_stream_key(1, "a", 1), cs_stream_key(1, "b", 0),
                       cs_stream_key(2, "a", 0), cs_stream_key(1, "", 0),  cs_stream_key(1, "aa", 0)};
    for (size_t i = 0; i < CS_COUNT(keys); i++)
        for (size_t j = 0; j < i; j++) assert_true(keys[i] != keys[j]);
}

static void patterns_match_like_a_shell(void **state) {
    (void)state;
    assert_true(cs_text_matches("*.self_attn.*", "model.layers.3.self_attn.q_proj.weight"));
    assert_true(cs_text_matches("lm_head.*", "lm_head.weight"));
    assert_true(cs_text_matches("*", ""));
    assert_true(cs_text_matches("a*b*c", "aXbbXc"));
    assert_false(cs_text_matches("a*b", "aXbc"));
    assert_false(cs_text_matches("", "x"));
    assert_false(cs_text_matches("model.*", "models"));
}

static void a_slip_of_the_pen_finds_the_nearest_word(void **state) {
    (void)state;
    const char *names[] = {"layerwise", "direct", "cold_start"};
    assert_int_equal(cs_text_distance("kitten", "sitting"), 3);
    assert_string_equal(cs_text_nearest("layerwse", names, 3), "layerwise");
    assert_string_equal(cs_text_nearest("dirct", names, 3), "direct");
    assert_null(cs_text_nearest("zebra", names, 3));
}

static void sizes_have_units_and_limits(void **state) {
    (void)state;
    uint64_t bytes = 0;
    assert_int_equal(cs_text_bytes("64MiB", &bytes), CS_OK);
    assert_int_equal(bytes, 64 << 20);
    assert_int_equal(cs_text_bytes("1 KiB", &bytes), CS_OK);
    assert_int_equal(bytes, 1024);
    assert_int_equal(cs_text_bytes("0", &bytes), CS_OK);
    assert_int_equal(bytes, 0);
    const char *bad[] = {
        "", "-1", "1.5MiB", "MiB", "99999999999999999999", "9223372036854775808", "8589934592GiB", "12 apples", "nan"};
    for (size_t i = 0; i < CS_COUNT(bad); i++) assert_int_equal(cs_text_bytes(bad[i], &bytes), CS_BAD_VALUE);
}

static void text_is_cut_between_characters(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t n, length;
    } cases[] = {
        {"", 0, 0},
        {"", 5, 0},
        {"abc", 0, 0},
        {"abc", 2, 2},
        {"abc", 9, 3},
        {"a\xc3\xa9z", 1, 1}, /* two bytes */
        {"a\xc3\xa9z", 2, 1},
        {"a\xc3\xa9z", 3, 3},
        {"\xe2\x80\xa6z", 1, 0}, /* three */
        {"\xe2\x80\xa6z", 2, 0},
        {"\xe2\x80\xa6z", 3, 3},
        {"\xf0\x9f\x98\x80z", 1, 0}, /* four */
        {"\xf0\x9f\x98\x80z", 3, 0},
        {"\xf0\x9f\x98\x80z", 4, 4},
        {"a\xe2\x80", 9, 1},            /* cut before */
        {"\x80\x80\x80\x80\x80", 4, 4}, /* no characters: nothing to be inside of */
        {"a\xff\xff", 2, 2},
    };
    for (size_t i = 0; i < CS_COUNT(cases); i++)
        assert_int_equal(cs_text_cut(cases[i].text, cases[i].n), cases[i].length);
}

static void bytes_that_are_not_utf_8_become_question_marks(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"a\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80", "a\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80"},
        {"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
         "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
        {"caf\xe9 au lait", "caf? au lait"}, /* Latin-1 */
        {"a\xe2\x80", "a??"},                /* ends inside a character */
        {"a\xe2\x80z", "a??z"},              /* and begins another */
        {"\xe2\xc3\xa9", "?\xc3\xa9"},
        {"\x80\xbf\xff\xfe", "????"},
        {"\xc0\xaf \xc1\xbf \xe0\x9f\xbf \xf0\x8f\xbf\xbf", "?? ?? ??? ????"}, /* longer than needed */
        {"\xed\xa0\x80 \xed\xbf\xbf", "??? ???"},                              /* surrogates */
        {"\xf4\x90\x80\x80 \xf5\x80\x80\x80", "???? ????"},                    /* beyond U+10FFFF */
    };
    for (size_t i = 0; i < CS_COUNT(cases); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", cases[i][0]);
        cs_text_make_valid(text);
        assert_string_equal(text, cases[i][1]);
    }
}

/* ---- files ---- */

static char *text_of(const char *path) {
    static char text[64];
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = 0;
    fclose(in);
    return text;
}

static enum cs_status put_two_lines(FILE *out, const void *what) {
    fprintf(out, "%s\n%s\n", (const char *)what, (const char *)what);
    return CS_OK;
}

static enum cs_status put_half(FILE *out, const void *what) {
    fputs(what, out);
    return cs_fail(CS_BAD_VALUE, "no second half");
}

static void a_file_is_written_whole_with_a_last_newline(void **state) {
    const char *path = path_in(*state, "a.txt");
    assert_int_equal(cs_write_check(path), CS_OK);
    assert_int_equal(cs_write_text(path, "one"), CS_OK);
    assert_string_equal(text_of(path), "one\n");
    assert_int_equal(cs_write_text(path, "two\n"), CS_OK);
    assert_string_equal(text_of(path), "two\n");
    assert_int_equal(cs_write_with(path, put_two_lines, "x"), CS_OK);
    assert_string_equal(text_of(path), "x\nx\n");
    assert_int_equal(count_files(*state), 1);
}

static void a_failed_write_leaves_the_old_file_and_no_other(void **state) {
    const char *path = path_in(*state, "a.txt");
    assert_int_equal(cs_write_text(path, "old"), CS_OK);
    assert_int_equal(cs_write_with(path, put_half, "new"), CS_BAD_VALUE);
    assert_string_equal(cs_error_text(), "no second half");
    struct rlimit limit, tiny;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    tiny = limit;
    tiny.rlim_cur = 2; /* bytes */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
    enum cs_status status = cs_write_text(path, "new and longer");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, CS_INTERNAL);
    assert_non_null(strstr(cs_error_text(), "a.txt\": File too large: name a file"));
    assert_string_equal(text_of(path), "old\n");
    assert_int_equal(count_files(*state), 1);
}

static void a_link_stays_a_link_and_a_mode_a_mode(void **state) {
    char file[256], link[256], name[260];
    snprintf(file, sizeof file, "%s", path_in(*state, "a.txt"));
    snprintf(link, sizeof link, "%s", path_in(*state, "l.txt"));
    assert_int_equal(cs_write_text(file, "old"), CS_OK);
    assert_int_equal(chmod(file, 0640), 0);
    assert_int_equal(symlink("a.txt", link), 0);
    assert_int_equal(cs_write_text(link, "new"), CS_OK);
    struct stat found;
    assert_int_equal(lstat(link, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    assert_int_equal(lstat(file, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0640);
    assert_string_equal(text_of(file), "new\n");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(cs_write_check(link), CS_INTERNAL); /* it leads nowhere */
    assert_non_null(strstr(cs_error_text(), "No such file or directory"));
    memset(name, 'n', 255); /* as long as a name can be */
    name[255] = 0;
    assert_int_equal(cs_write_text(path_in(*state, name), "long"), CS_OK);
    assert_int_equal(count_files(*state), 2);
}

static void what_cannot_be_written_is_known_before(void **state) {
    assert_int_equal(cs_write_check("-"), CS_OK);
    assert_int_equal(cs_write_check("/dev/null"), CS_OK);
    assert_int_equal(cs_write_check("in_this_folder"), CS_OK);
    assert_int_equal(cs_write_check(*state), CS_INTERNAL);
    assert_non_null(strstr(cs_error_text(), "Is a directory"));
    assert_int_equal(cs_write_check(path_in(*state, "none/a.txt")), CS_INTERNAL);
    assert_non_null(strstr(cs_error_text(), "No such file or directory"));
    assert_int_equal(cs_write_check(""), CS_INTERNAL);
    assert_non_null(strstr(cs_error_text(), "\"\": No such file or directory"));
    assert_int_equal(cs_write_text(*state, "into a folder"), CS_INTERNAL);
    assert_non_null(strstr(cs_error_text(), "Is a directory"));
    assert_int_equal(cs_write_text("/dev/full", "where nothing has room"), CS_INTERNAL);
    assert_non_null(strstr(cs_error_text(), "\"/dev/full\": No space left on device"));
    if (!drop_root()) return;
    enum cs_status status = cs_write_check("/etc/passwd"); /* there, and not ours to write */
    regain_root();
    assert_int_equal(status, CS_INTERNAL);
    assert_non_null(strstr(cs_error_text(), "\"/etc/passwd\": Permission denied"));
    if (!drop_root()) return;
    status = cs_write_check("/coldstart.txt");
    regain_root();
    assert_int_equal(status, CS_INTERNAL);
    assert_non_null(strstr(cs_error_text(), "\"/coldstart.txt\": Permission denied"));
}

static void only_files_are_read(void **state) {
    FILE *file;
    assert_int_equal(mkfifo(path_in(*state, "pipe"), 0600), 0); /* nobody writes, so that nobody may wait */
    assert_int_equal(cs_open_to_read(path_in(*state, "pipe"), &file), CS_BAD_FILE);
    assert_null(file);
    assert_non_null(strstr(cs_error_text(), "pipe: found a device or pipe, expected a file"));
    assert_int_equal(cs_open_to_read("/dev/zero", &file), CS_BAD_FILE);
    assert_non_null(strstr(cs_error_text(), "/dev/zero: found a device or pipe, expected a file"));
    assert_int_equal(cs_open_to_read(*state, &file), CS_BAD_FILE);
    assert_non_null(strstr(cs_error_text(), "Is a directory"));
    assert_int_equal(cs_open_to_read(path_in(*state, "none"), &file), CS_BAD_FILE);
    assert_non_null(strstr(cs_error_text(), "No such file or directory"));
    assert_int_equal(cs_write_text(path_in(*state, "a.txt"), "text"), CS_OK);
    assert_int_equal(symlink("a.txt", path_in(*state, "link")), 0);
    assert_int_equal(cs_open_to_read(path_in(*state, "link"), &file), CS_OK);
    assert_int_equal(fgetc(file), 't');
    assert_int_equal(fclose(file), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_keeps_its_message),
        cmocka_unit_test(the_arena_zeroes_aligns_and_refuses_overflow),
        cmocka_unit_test(growing_keeps_what_was_there),
        cmocka_unit_test(rewinding_keeps_one_chunk_which_is_zeroed_again),
        cmocka_unit_test(fnv1a_matches_the_published_vectors),
        cmocka_unit_test(streams_differ_by_name_index_and_seed),
        cmocka_unit_test(patterns_match_like_a_shell),
        cmocka_unit_test(a_slip_of_the_pen_finds_the_nearest_word),
        cmocka_unit_test(sizes_have_units_and_limits),
        cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(bytes_that_are_not_utf_8_become_question_marks),
        cmocka_unit_test_setup_teardown(a_file_is_written_whole_with_a_last_newline, make_test_folder,
                                        remove_test_folder),
        cmocka_unit_test_setup_teardown(a_failed_write_leaves_the_old_file_and_no_other, make_test_folder,
                                        remove_test_folder),
        cmocka_unit_test_setup_teardown(a_link_stays_a_link_and_a_mode_a_mode, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_known_before, make_test_folder, remove_test_folder),
        cmocka_unit_test_setup_teardown(only_files_are_read, make_test_folder, remove_test_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
