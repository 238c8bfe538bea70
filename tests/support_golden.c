#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support_files.h"
#include "tests/support_golden.h"

/* ---- running ---- */

struct outcome conform(const char *folder, const char *filter) {
    struct outcome outcome = {0};
    size_t size;
    FILE *out = open_memstream(&outcome.text, &size);
    assert_non_null(out);
    const struct cs_conform_options options = {
        .folder = folder, .device = cs_device_by_name("ref"), .filter = filter, .out = out};
    outcome.status = cs_conform(&options, &outcome.result);
    assert_int_equal(fclose(out), 0);
    return outcome;
}

/* The only selected case passes. */
void assert_passes(const char *folder, const char *filter, int64_t with_defect) {
    struct outcome outcome = conform(folder, filter);
    assert_int_equal(outcome.status, CS_OK);
    if (outcome.result.total.failed) fail_msg("%s", outcome.text);
    assert_int_equal(outcome.result.total.passed, 1);
    assert_int_equal(outcome.result.total.with_defect, with_defect);
    free(outcome.text);
}

/* The folder's only case fails; what is printed names it and contains `reason`. */
void assert_fails(const char *folder, const char *name, const char *reason) {
    struct outcome outcome = conform(folder, NULL);
    assert_int_equal(outcome.status, CS_OK);
    assert_int_equal(outcome.result.total.passed, 0);
    assert_int_equal(outcome.result.total.failed, 1);
    if (!strstr(outcome.text, name) || !strstr(outcome.text, reason))
        fail_msg("no \"%s\" or \"%s\" in: %s", name, reason, outcome.text);
    assert_non_null(strstr(outcome.text, "\n0 of 1 passed, 0 unsupported\n"));
    free(outcome.text);
}

/* ---- copies of golden cases ---- */

static json_t *golden_json(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", GOLDEN, name);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root) fail_msg("%s: %s", path, error.text);
    return root;
}

/* The entry of a list whose `key` is `id`; the caller owns it. */
static json_t *take_case(json_t *list, const char *key, const char *id) {
    size_t i;
    json_t *entry, *found = NULL;
    json_array_foreach(list, i, entry) if (cs_text_equal(json_string_value(json_object_get(entry, key)), id)) found =
        json_incref(entry);
    if (!found) fail_msg("no case %s", id);
    return found;
}

const char *family_folder(void **state, const char *family) {
    const char *folder = path_in(*state, family);
    mkdir(folder, 0755);
    return folder;
}

void write_json(const char *path, json_t *root) {
    assert_int_equal(json_dump_file(root, path, 0), 0);
    json_decref(root);
}

/* Copies a file of golden bytes; `flip` counts from its end, 0: nothing is changed. */
void copy_bytes(const char *from, const char *to, size_t flip) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", GOLDEN, from);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    static unsigned char bytes[1 << 19];
    size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    assert_true(size > flip && size < sizeof bytes);
    if (flip) bytes[size - flip] ^= 1;
    write_bytes(to, bytes, size);
}

/* A layouts/ family of one case. */
void copy_layout(void **state, const char *id, size_t flip) {
    json_t *index = golden_json("layouts/index.json"), *one = json_array();
    json_array_append_new(one, take_case(index, "case", id));
    json_decref(index);
    const char *folder = family_folder(state, "layouts");
    write_json(path_in(folder, "index.json"), one);
    char from[256];
    snprintf(from, sizeof from, "layouts/%s.safetensors", id);
    copy_bytes(from, path_in(*state, from), flip);
}

/* A loaders/ family of one case that `change` may edit. */
void copy_loader(void **state, const char *file, const char *id, edit *change) {
    char name[256];
    snprintf(name, sizeof name, "loaders/%s", file);
    json_t *list = golden_json(name), *one = json_array(), *json = take_case(list, "id", id);
    json_decref(list);
    if (change) change(json);
    const char *bytes = json_string_value(json_object_get(json, "bytes"));
    family_folder(state, "loaders");
    if (bytes) {
        char from[256];
        snprintf(from, sizeof from, "loaders/%s", bytes);
        copy_bytes(from, path_in(*state, from), 0);
    }
    json_array_append_new(one, json);
    write_json(path_in(*state, name), one);
}

void copy_scenario(void **state, const char *id, edit *change) {
    json_t *root = golden_json("reload/scenarios.json"), *one = json_array();
    json_t *json = take_case(json_object_get(root, "scenarios"), "id", id);
    if (change) change(json);
    json_array_append_new(one, json);
    json_object_set_new(root, "scenarios", one);
    family_folder(state, "reload");
    write_json(path_in(*state, "reload/scenarios.json"), root);
}

void remove_family(const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing) return;
    for (struct dirent *item; (item = readdir(listing));) unlink(path_in(folder, item->d_name));
    closedir(listing);
}

int remove_golden_copies(void **state) {
    static const char *const families[] = {"layouts", "loaders", "reload"};
    for (size_t i = 0; i < CS_COUNT(families); i++) remove_family(path_in(*state, families[i]));
    return remove_test_folder(state);
}
